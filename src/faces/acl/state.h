// SPDX-License-Identifier: Apache-2.0
// What the calls of ACL share: statuses of tern as errors of ACL, and the thread's device.
#ifndef TERN_FACES_ACL_STATE_H
#define TERN_FACES_ACL_STATE_H

#include "acl/acl.h"

aclError tern__acl_error(int status);

// ACL_ERROR_INVALID_PARAM, with the sentence "call: what must not be NULL".
aclError tern__acl_no_pointer(const char *call, const char *what);

// Of the calling thread: what it has set, else 0.
int32_t tern__acl_device(void);

#endif
