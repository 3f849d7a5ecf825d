// SPDX-License-Identifier: Apache-2.0
// The runtime calls below ACL that some hosts use.
#ifndef TERN_FACES_RUNTIME_RT_H
#define TERN_FACES_RUNTIME_RT_H

#include <stdint.h>

#include "tern/api.h"

TERN_BEGIN_DECLS

typedef int32_t rtError_t;
typedef void *rtStream_t;

#define RT_ERROR_NONE 0

TERN_API rtError_t rtSetDevice(int32_t device);
TERN_API rtError_t rtStreamCreate(rtStream_t *stream, int32_t priority);
TERN_API rtError_t rtStreamDestroy(rtStream_t stream);
TERN_API rtError_t rtStreamSynchronize(rtStream_t stream);

TERN_END_DECLS

#endif
