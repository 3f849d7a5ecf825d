// SPDX-License-Identifier: Apache-2.0
// The error numbers of ACL's runtime, which acl/acl_base.h has.
#ifndef TERN_FACES_ACL_ERROR_CODES_RT_ERROR_CODES_H
#define TERN_FACES_ACL_ERROR_CODES_RT_ERROR_CODES_H

#include "acl/acl_base.h"

#endif
