// SPDX-License-Identifier: Apache-2.0
// What the calls of ACL share: statuses of tern as errors of ACL, the thread's device, and whether
// it may wait for streams.
#ifndef TERN_FACES_ACL_STATE_H
#define TERN_FACES_ACL_STATE_H

#include <stdbool.h>

#include "acl/acl.h"

// The error of a status of tern, whose sentence is there already. The second form is of an error
// that has no status. Both are the thread's last error from now on.
aclError tern__acl_error(int status);
aclError tern__acl_fail(aclError error);

// ACL_ERROR_INVALID_PARAM, with the sentence "call: what must not be NULL".
aclError tern__acl_no_pointer(const char *call, const char *what);

// Of the calling thread: what it has set, else 0.
int32_t tern__acl_device(void);

// ACL_SUCCESS when there is a device of this number for the program.
aclError tern__acl_check_device(const char *call, int32_t device);

// What a timeoutMs means to tern: below 0 its default.
int64_t tern__acl_timeout(int32_t timeout_ms);

// TERN_OK, or TERN_ERR_STATE in a kernel or a callback: streams wait for what calls.
int tern__acl_may_wait(void);

// The thread runs a callback from here on, or no more.
void tern__acl_in_callback(bool in);

#endif
