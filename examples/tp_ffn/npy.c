// SPDX-License-Identifier: Apache-2.0
// Matrices in .npy files (npy.h), after the description in numpy's manual (numpy.lib.format): where
// the header lies, the data, and writing. What the header says is npy_header.c's.
#include "npy.h"

#include "npy_header.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define PREFIX_BYTES_MAX 12      // magic, version, 4-byte header length
#define HEADER_BYTES_MAX 65535   // what version 1.0 can say; real headers have about 128
#define WRITTEN_HEADER_BYTES 128 // with the prefix; numpy aligns the data to 64

// Reads exactly that many bytes. A file that ends before is a failure.
static int read_at(const struct npy *npy, void *buffer, size_t size_bytes, size_t offset,
                   struct failure *failure)
{
    char *to = buffer;
    while (size_bytes > 0) {
        ssize_t got = pread(npy->fd, to, size_bytes, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail(failure, EXIT_FAILED, "%s: cannot be read: %s", npy->path, strerror(errno));
        }
        if (got == 0) {
            return fail(failure, EXIT_FAILED, "%s: the file is truncated", npy->path);
        }
        to += got;
        offset += (size_t)got;
        size_bytes -= (size_t)got;
    }
    return 0;
}

// Finds where the header lies: *begin and *length in bytes.
static int read_prefix(const struct npy *npy, size_t *begin, size_t *length,
                       struct failure *failure)
{
    unsigned char prefix[PREFIX_BYTES_MAX];
    int status = read_at(npy, prefix, 10, 0, failure);
    if (status != 0) {
        return status;
    }
    if (memcmp(prefix, MAGIC, MAGIC_BYTES) != 0) {
        return fail(failure, EXIT_FAILED, "%s: not a .npy file: it does not begin with its magic",
                    npy->path);
    }
    unsigned major = prefix[6];
    unsigned minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0) {
        return fail(failure, EXIT_FAILED,
                    "%s: .npy version %u.%u is unknown, wanted is 1.0, 2.0 or 3.0", npy->path,
                    major, minor);
    }
    *begin = 10;
    *length = (size_t)prefix[8] | (size_t)prefix[9] << 8;
    if (major > 1) {
        status = read_at(npy, prefix + 10, 2, 10, failure);
        *begin = 12;
        *length |= (size_t)prefix[10] << 16 | (size_t)prefix[11] << 24;
    }
    if (status == 0 && *length > HEADER_BYTES_MAX) {
        return fail(failure, EXIT_FAILED,
                    "%s: the .npy header is %zu bytes long, at most %d are read", npy->path,
                    *length, HEADER_BYTES_MAX);
    }
    return status;
}

static int read_header(struct npy *npy, struct failure *failure)
{
    size_t begin = 0;
    size_t length = 0;
    int status = read_prefix(npy, &begin, &length, failure);
    if (status != 0) {
        return status;
    }
    char *text = allocate(length, 1, failure);
    if (text == NULL) {
        return failure->exit_status;
    }
    status = read_at(npy, text, length, begin, failure);
    struct npy_header header;
    if (status == 0) {
        status = npy_header_parse(text, length, npy->path, &header, failure);
    }
    free(text);
    if (status != 0) {
        return status;
    }
    npy->rows = header.rows;
    npy->cols = header.cols;
    npy->element_bytes = header.element_bytes;
    npy->data_offset = begin + length;
    return 0;
}

static int check_size(const struct npy *npy, struct failure *failure)
{
    struct stat info;
    if (fstat(npy->fd, &info) != 0) {
        return fail(failure, EXIT_FAILED, "%s: %s", npy->path, strerror(errno));
    }
    // Less than 2^63: neither side is larger than NPY_SIDE_MAX.
    size_t wanted = npy->data_offset + npy->rows * npy->cols * npy->element_bytes;
    size_t there = (size_t)info.st_size;
    if (there == wanted) {
        return 0;
    }
    return fail(failure, EXIT_FAILED,
                "%s: the file is %s: a %zu x %zu matrix ends after %zu bytes, "
                "the file after %zu",
                npy->path, there < wanted ? "truncated" : "too long", npy->rows, npy->cols, wanted,
                there);
}

int npy_open(struct npy *npy, const char *path, struct failure *failure)
{
    npy->fd = -1;
    int length = snprintf(npy->path, sizeof npy->path, "%s", path);
    if (length < 0 || (size_t)length >= sizeof npy->path) {
        return fail(failure, EXIT_FAILED, "a path is longer than %d bytes", NPY_PATH_MAX - 1);
    }
    // O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
    npy->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (npy->fd < 0) {
        return fail(failure, EXIT_FAILED, "%s: cannot be opened: %s", path, strerror(errno));
    }
    struct stat info;
    if (fstat(npy->fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return fail(failure, EXIT_FAILED, "%s: not a regular file", path);
    }
    int status = read_header(npy, failure);
    return status != 0 ? status : check_size(npy, failure);
}

void npy_close(struct npy *npy)
{
    if (npy->fd >= 0) {
        close(npy->fd);
    }
    npy->fd = -1;
}

// IEEE 754 binary16 to binary32, exact.
static float from_f16(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    uint32_t exponent = (half >> 10) & 0x1fU;
    uint32_t fraction = half & 0x3ffU;
    if (exponent == 0) { // zero and subnormal: fraction * 2^-24
        float magnitude = (float)fraction * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    exponent = exponent == 0x1fU ? 0xffU : exponent + 112U; // the bias: 127 instead of 15
    uint32_t bits = sign | exponent << 23 | fraction << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The halves were read into the upper half of values, so going forward never overwrites one that is
// still to be read.
static void widen_in_place(float *values, size_t count)
{
    const char *halves = (const char *)values + count * sizeof(uint16_t);
    for (size_t i = 0; i < count; i++) {
        uint16_t half;
        memcpy(&half, halves + i * sizeof half, sizeof half);
        values[i] = from_f16(half);
    }
}

int npy_read(const struct npy *npy, const struct npy_block *block, float *values,
             struct failure *failure)
{
    assert(block->row + block->rows <= npy->rows && block->col + block->cols <= npy->cols);
    // Rows that follow each other without a gap are one read.
    bool whole_rows = block->cols == npy->cols;
    size_t reads = whole_rows ? 1 : block->rows;
    size_t count = whole_rows ? block->rows * block->cols : block->cols;
    for (size_t i = 0; i < reads; i++) {
        size_t first = (block->row + i) * npy->cols + block->col;
        float *to = values + i * count;
        size_t skipped = count * (sizeof(float) - npy->element_bytes);
        int status = read_at(npy, (char *)to + skipped, count * npy->element_bytes,
                             npy->data_offset + first * npy->element_bytes, failure);
        if (status != 0) {
            return status;
        }
        if (npy->element_bytes == sizeof(uint16_t)) {
            widen_in_place(to, count);
        }
    }
    return 0;
}

static bool write_all(FILE *file, size_t rows, size_t cols, const float *values)
{
    char header[WRITTEN_HEADER_BYTES];
    memset(header, ' ', sizeof header);
    memcpy(header, MAGIC "\x01\x00", 8); // version 1.0
    header[8] = WRITTEN_HEADER_BYTES - 10;
    header[9] = 0;
    int length =
        snprintf(header + 10, sizeof header - 10,
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (%zu, %zu), }", rows, cols);
    assert(length > 0 && (size_t)length < sizeof header - 11);
    header[10 + length] = ' '; // the terminator of snprintf
    header[sizeof header - 1] = '\n';
    return fwrite(header, sizeof header, 1, file) == 1 &&
           fwrite(values, sizeof(float), rows * cols, file) == rows * cols;
}

int npy_write(const char *path, size_t rows, size_t cols, const float *values,
              struct failure *failure)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return fail(failure, EXIT_FAILED, "%s: cannot be written: %s", path, strerror(errno));
    }
    bool written = write_all(file, rows, cols, values);
    int why = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        why = errno;
    }
    if (!written) {
        return fail(failure, EXIT_FAILED, "%s: cannot be written: %s", path, strerror(why));
    }
    return 0;
}
