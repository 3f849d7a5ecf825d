// SPDX-License-Identifier: Apache-2.0
// The names of the numbers of tern/graph_code.def.

#include "tern/graph.h"

const char *tern_graph_code_name(int code)
{
    switch (code) {
#define TERN_GRAPH_CODE(number, name, meaning, cure)                                               \
    case number:                                                                                   \
        return #name;
#include "tern/graph_code.def"
#undef TERN_GRAPH_CODE
    default:
        return "NONE";
    }
}
