// SPDX-License-Identifier: Apache-2.0
// How tern's public functions are declared: C linkage, and visible from the shared library.
#ifndef TERN_API_H
#define TERN_API_H

#include <stddef.h>

#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0

#define TERN_API __attribute__((visibility("default")))

#ifdef __cplusplus
#define TERN_BEGIN_DECLS extern "C" {
#define TERN_END_DECLS }
#else
#define TERN_BEGIN_DECLS
#define TERN_END_DECLS
#endif

// Lets the compiler check a printf-like argument list.
#define TERN_PRINTF(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))

#endif
