// SPDX-License-Identifier: Apache-2.0
// <cmocka.h> and what it wants to be included before.
#ifndef TERN_TEST_CMOCKA_H
#define TERN_TEST_CMOCKA_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
