// SPDX-License-Identifier: Apache-2.0
// The numbers of tern/graph_code.def.
#ifndef TERN_GRAPH_CODE_H
#define TERN_GRAPH_CODE_H

enum tern__code {
    TERN__CODE_NONE = 0,
#define TERN_GRAPH_CODE(number, name, meaning, cure) TERN__CODE_##name = (number),
#include "tern/graph_code.def"
#undef TERN_GRAPH_CODE
};

#endif
