// SPDX-License-Identifier: Apache-2.0
// The slots of the control memory that communicators made from others lie in.
#ifndef TERN_COMM_PART_H
#define TERN_COMM_PART_H

#include "sync/ctl.h"

// By the last rank that leaves it: the slot may be given out again.
void tern__part_release(struct tern__ctl *ctl, int slot);

#endif
