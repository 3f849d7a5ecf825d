// SPDX-License-Identifier: Apache-2.0
// How tern's public functions are declared: C linkage, and visible from the shared library.
#ifndef TERN_API_H
#define TERN_API_H

#include <stddef.h>

#define TERN_VERSION_MAJOR 0
#define TERN_VERSION_MINOR 1
#define TERN_VERSION_PATCH 0

#define TERN_API __attribute__((visibility("default")))

// A function that returns a status: the compiler warns where nobody looks at it, since a call that
// failed has made no result. Where it really does not matter: tern_status_ignore(tern_…(…)).
// Functions that destroy are without: a program that cleans up can seldom do anything about an
// error.
#define TERN_CALL TERN_API __attribute__((warn_unused_result))

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
