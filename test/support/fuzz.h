// SPDX-License-Identifier: Apache-2.0
// What fuzz targets begin with.
#ifndef TERN_TEST_SUPPORT_FUZZ_H
#define TERN_TEST_SUPPORT_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
