// SPDX-License-Identifier: Apache-2.0
// Which devices there are for this process.
#ifndef TERN_FACES_ACL_VISIBLE_H
#define TERN_FACES_ACL_VISIBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tern/comm.h"

struct tern__acl_visible {
    bool listed; // by ASCEND_RT_VISIBLE_DEVICES; else all are visible
    int32_t count;
    int32_t numbers[TERN_RANKS_MAX]; // of the first `count`, as the list has them
};

// TERN_ERR_ARG, with a sentence of the call, for a list that is none.
int tern__acl_visible(const char *call, struct tern__acl_visible *visible);

#endif
