// SPDX-License-Identifier: Apache-2.0
// Matrices in .npy files, the format of numpy.save: magic, version, header length, a Python dict as
// text, data. Read strictly: two dimensions, C order, little-endian f4 or f2, versions 1.0, 2.0 and
// 3.0, and exactly as many bytes as the shape says; anything else is a failure whose sentence names
// the file and what is wrong with it. Written as f4, version 1.0.
#ifndef TP_FFN_NPY_H
#define TP_FFN_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "support.h"

#define NPY_PATH_MAX 4096
#define NPY_SIDE_MAX ((size_t)1 << 30) // rows or columns of a matrix

// A file that is open for reading. `fd` is -1 when it is not.
struct npy {
    int fd;
    size_t rows;
    size_t cols;
    size_t element_bytes; // 4 (f4) or 2 (f2)
    size_t data_offset;   // of element [0, 0], in bytes
    char path[NPY_PATH_MAX];
};

// A rectangle of a matrix.
struct npy_block {
    size_t row;
    size_t rows;
    size_t col;
    size_t cols;
};

// Reads and checks the header. Any thread; the file is closed by npy_close, also after a failure.
int npy_open(struct npy *npy, const char *path, struct failure *failure);
void npy_close(struct npy *npy);

// values[rows][cols] = that block, widened to f32. The block must lie inside the matrix. Several
// processes may read the same file.
int npy_read(const struct npy *npy, const struct npy_block *block, float *values,
             struct failure *failure);

// Writes values[rows][cols]; a file of that name is replaced.
int npy_write(const char *path, size_t rows, size_t cols, const float *values,
              struct failure *failure);

#endif
