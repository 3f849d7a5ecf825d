// SPDX-License-Identifier: Apache-2.0
// The header of a .npy file: a Python dict as text. Reads no file and keeps no memory.
#ifndef TP_FFN_NPY_HEADER_H
#define TP_FFN_NPY_HEADER_H

#include <stddef.h>

#include "support.h"

struct npy_header {
    size_t rows;
    size_t cols;
    size_t element_bytes; // 4 (f4) or 2 (f2)
};

// Parses text[length], and refuses what npy.h does not read. path is for the sentence.
int npy_header_parse(const char *text, size_t length, const char *path, struct npy_header *header,
                     struct failure *failure);

#endif
