// SPDX-License-Identifier: Apache-2.0
// What the lists of names are written in, in every language: that a number or the place of a field
// is so, and that a function has this type.
#ifndef TERN_TEST_NAMES_H
#define TERN_TEST_NAMES_H

#include <stddef.h>

#ifdef __cplusplus
#define SAME(a, b) static_assert((size_t)(a) == (size_t)(b), #a)
#else
#define SAME(a, b) _Static_assert((size_t)(a) == (size_t)(b), #a)
#endif

#define IS_OF(result, name, ...) result (*call_##name)(__VA_ARGS__) = name
#define IS(name, ...) IS_OF(HcclResult, name, __VA_ARGS__)

#endif
