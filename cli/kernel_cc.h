// SPDX-License-Identifier: Apache-2.0
// What kernel_cc.c does with a source between preprocessing and compiling.
#ifndef TERN_CLI_KERNEL_CC_H
#define TERN_CLI_KERNEL_CC_H

#include <stddef.h>

// The preprocessed source with each launch  K<<<blocks, nullptr, stream>>>(arguments)  as
// K % ::pto_launch("K", blocks, nullptr, stream)(arguments),  on the same lines. To be freed; NULL:
// no memory.
char *kernel_rewrite(const char *text, size_t count, size_t *result_count);

#endif
