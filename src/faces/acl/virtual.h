// SPDX-License-Identifier: Apache-2.0
// Memory that programs map themselves (aclrtMapMem).
#ifndef TERN_FACES_ACL_VIRTUAL_H
#define TERN_FACES_ACL_VIRTUAL_H

#include <stdbool.h>
#include <stddef.h>

// Whether memory is mapped there.
bool tern__acl_is_mapped(const void *address);

// TERN_ERR_ARG, with a sentence of the call, when the bytes begin among addresses of
// aclrtReserveMemAddress and not all of them have memory.
int tern__acl_mapped_check(const char *call, const char *what, const void *address, size_t bytes);

// TERN_ERR_ARG, with a sentence of the call, when it is no aclrtDrvMemHandle that lives, or has
// fewer bytes.
int tern__acl_physical_check(const char *call, const void *handle, size_t bytes);

#endif
