// SPDX-License-Identifier: Apache-2.0
// What machines tell each other about their communicators.
#ifndef TERN_NET_CONTROL_H
#define TERN_NET_CONTROL_H

#include "sync/far.h"

extern const struct tern__far tern__net_far;

#endif
