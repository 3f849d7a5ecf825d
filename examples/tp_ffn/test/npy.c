// SPDX-License-Identifier: Apache-2.0
// The .npy reader and writer: what numpy writes is read, anything else is a sentence, and no byte
// of a file is taken on trust.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "npy.h"
#include "npy_header.h"

// Last, because it defines a macro called fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char path[] = "/tmp/tp_ffn_npy.XXXXXX";

static int create_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_bytes(const void *bytes, size_t size_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
}

// A file of the given version, header text (without its newline) and data.
static void write_npy(unsigned char major, const char *text, const void *data, size_t data_bytes)
{
    unsigned char bytes[1024] = {0x93, 'N', 'U', 'M', 'P', 'Y', major, 0};
    size_t begin = major == 1 ? 10 : 12;
    size_t length = strlen(text) + 1;
    assert_true(begin + length + data_bytes <= sizeof bytes);
    bytes[8] = (unsigned char)(length & 0xff);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + begin, text, length - 1);
    bytes[begin + length - 1] = '\n';
    memcpy(bytes + begin + length, data, data_bytes);
    write_bytes(bytes, begin + length + data_bytes);
}

static const float six[6] = {1, -2, 3.5F, 0, 1e-30F, -6e30F};
static const char good[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";

// The file is refused, and the sentence has the words and the path.
static void expect_refused(const char *words)
{
    struct failure failure = {0};
    struct npy npy;
    assert_int_equal(npy_open(&npy, path, &failure), EXIT_FAILED);
    npy_close(&npy);
    if (strstr(failure.sentence, words) == NULL || strstr(failure.sentence, path) == NULL) {
        fail_msg("'%s' has not both '%s' and the path", failure.sentence, words);
    }
}

static void expect_six(void)
{
    struct failure failure = {0};
    struct npy npy;
    float values[6];
    if (npy_open(&npy, path, &failure) != 0) {
        fail_msg("%s", failure.sentence);
    }
    assert_int_equal(npy.rows, 2);
    assert_int_equal(npy.cols, 3);
    struct npy_block block = {0, 2, 0, 3};
    assert_int_equal(npy_read(&npy, &block, values, &failure), 0);
    assert_memory_equal(values, six, sizeof six);
    npy_close(&npy);
}

static void reads_what_it_writes(void **state)
{
    (void)state;
    struct failure failure = {0};
    assert_int_equal(npy_write(path, 2, 3, six, &failure), 0);
    expect_six();
}

static void writes_what_numpy_writes(void **state)
{
    (void)state;
    struct failure failure = {0};
    assert_int_equal(npy_write(path, 2, 3, six, &failure), 0);
    // numpy.save of this matrix, byte for byte: the header padded with spaces to 128 bytes.
    const unsigned char prefix[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, 118, 0};
    char wanted[128 + sizeof six];
    memset(wanted, ' ', 128);
    memcpy(wanted, prefix, sizeof prefix);
    memcpy(wanted + sizeof prefix, good, sizeof good - 1);
    wanted[127] = '\n';
    memcpy(wanted + 128, six, sizeof six);
    char got[sizeof wanted + 1];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(got, 1, sizeof got, file), sizeof wanted);
    fclose(file);
    assert_memory_equal(got, wanted, sizeof wanted);
}

static void reads_all_versions_and_spellings(void **state)
{
    (void)state;
    static const char *const spellings[] = {
        good,
        "{'descr':'<f4','fortran_order':False,'shape':(2,3)}",
        "{\"shape\": (2, 3,), \"fortran_order\": False, \"descr\": \"<f4\"}      ",
        " { 'fortran_order' : False , 'shape' : ( 2 , 3 ) , 'descr' : '<f4' , } ",
    };
    for (unsigned char major = 1; major <= 3; major++) {
        for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
            write_npy(major, spellings[i], six, sizeof six);
            expect_six();
        }
    }
}

static void reads_blocks(void **state)
{
    (void)state;
    struct failure failure = {0};
    float values[5 * 7];
    for (int i = 0; i < 35; i++) {
        values[i] = (float)i;
    }
    assert_int_equal(npy_write(path, 5, 7, values, &failure), 0);
    struct npy npy;
    assert_int_equal(npy_open(&npy, path, &failure), 0);
    for (size_t row = 0; row < 5; row++) {
        for (size_t col = 0; col < 7; col++) {
            struct npy_block block = {row, 5 - row, col, 7 - col};
            float part[35];
            assert_int_equal(npy_read(&npy, &block, part, &failure), 0);
            for (size_t i = 0; i < block.rows * block.cols; i++) {
                size_t index = (row + i / block.cols) * 7 + col + i % block.cols;
                assert_true(part[i] == (float)index);
            }
        }
    }
    npy_close(&npy);
}

static void widens_f16_exactly(void **state)
{
    (void)state;
    static const uint16_t halves[8] = {0x0000, 0x8000, 0x3c00, 0xc000,
                                       0x0001, 0x83ff, 0x7bff, 0x7c00};
    static const float wanted[8] = {0.0F,     -0.0F,         1.0F,     -2.0F,
                                    0x1p-24F, -0x1.ff8p-15F, 65504.0F, INFINITY};
    write_npy(1, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }", halves,
              sizeof halves);
    struct failure failure = {0};
    struct npy npy;
    assert_int_equal(npy_open(&npy, path, &failure), 0);
    float got[8];
    assert_int_equal(npy_read(&npy, &(struct npy_block){0, 2, 0, 4}, got, &failure), 0);
    assert_memory_equal(got, wanted, sizeof wanted);
    assert_int_equal(npy_read(&npy, &(struct npy_block){1, 1, 1, 2}, got, &failure), 0);
    assert_memory_equal(got, wanted + 5, 2 * sizeof(float));
    npy_close(&npy);
}

static void refuses_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", "Fortran order"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", "dtype is '>f4'"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }", "dtype is '<f8'"},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", "dtype is '<i4'"},
        {"{'descr': '<f44', 'fortran_order': False, 'shape': (2, 3), }", "dtype is '<f44'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,), }", "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,), }", "1 dimension,"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", "0 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", "3 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", "empty"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", "too long"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }", "truncated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1073741824, 1073741824)}",
         "truncated"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1073741825, 3)}",
         "dimension is larger"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3)}",
         "dimension is larger"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }", "number is missing"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3], }", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, }", "is missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2, 3), }", "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}", "none of descr"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (2, 3), }", "comma"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } x", "newline"},
        {"{'descr': '<f4", "no end"},
        {"'descr'", "begin with"},
        {"", "begin with"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_npy(1, cases[i].text, six, sizeof six);
        expect_refused(cases[i].words);
    }
    write_npy(4, good, six, sizeof six);
    expect_refused("version 4.0");
    write_npy(0, good, six, sizeof six);
    expect_refused("version 0.0");
    write_bytes("PK\x03\x04 a zip archive", 18);
    expect_refused("magic");
    write_bytes("\x93NUMPY\x02\x00\xff\xff\xff\xff and more", 20);
    expect_refused("bytes long");
}

static void refuses_every_other_length(void **state)
{
    (void)state;
    struct failure failure = {0};
    assert_int_equal(npy_write(path, 2, 3, six, &failure), 0);
    char bytes[128 + sizeof six + 1] = {0};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), sizeof bytes - 1);
    fclose(file);
    for (size_t length = 0; length < sizeof bytes - 1; length++) {
        write_bytes(bytes, length);
        expect_refused("truncated");
    }
    write_bytes(bytes, sizeof bytes);
    expect_refused("too long");
}

static void refuses_what_is_no_file(void **state)
{
    (void)state;
    struct failure failure = {0};
    struct npy npy;
    assert_int_equal(npy_open(&npy, "/tmp", &failure), EXIT_FAILED);
    assert_non_null(strstr(failure.sentence, "not a regular file"));
    npy_close(&npy);
    assert_int_equal(npy_open(&npy, "/nonexistent/x.npy", &failure), EXIT_FAILED);
    assert_non_null(strstr(failure.sentence, "/nonexistent/x.npy: cannot be opened"));
    npy_close(&npy);
    assert_int_equal(npy_write("/nonexistent/x.npy", 1, 1, six, &failure), EXIT_FAILED);
    assert_non_null(strstr(failure.sentence, "/nonexistent/x.npy: cannot be written"));
    assert_int_equal(npy_write("/dev/full", 2, 3, six, &failure), EXIT_FAILED);
    assert_non_null(strstr(failure.sentence, "No space left"));
}

// Any one byte changed, and any end cut off: parsed or refused, but within bounds (the text is
// allocated at its exact size for the address sanitizer).
static void survives_any_byte(void **state)
{
    (void)state;
    size_t length = sizeof good; // with a newline in place of the terminator
    char *text = malloc(length);
    assert_non_null(text);
    for (size_t at = 0; at < length; at++) {
        for (int byte = 0; byte < 256; byte++) {
            memcpy(text, good, length);
            text[length - 1] = '\n';
            text[at] = (char)byte;
            struct failure failure = {0};
            struct npy_header header = {0};
            if (npy_header_parse(text, length, "x", &header, &failure) == 0) {
                assert_in_range(header.rows, 1, NPY_SIDE_MAX);
                assert_in_range(header.cols, 1, NPY_SIDE_MAX);
                assert_true(header.element_bytes == 4 || header.element_bytes == 2);
            } else {
                assert_int_equal(failure.exit_status, EXIT_FAILED);
            }
        }
    }
    free(text);
    for (size_t cut = 0; cut < sizeof good; cut++) {
        char *part = malloc(cut + 1); // at least one byte
        assert_non_null(part);
        memcpy(part, good, cut);
        struct failure failure = {0};
        struct npy_header header;
        assert_int_equal(npy_header_parse(part, cut, "x", &header, &failure), EXIT_FAILED);
        free(part);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(writes_what_numpy_writes),
        cmocka_unit_test(reads_all_versions_and_spellings),
        cmocka_unit_test(reads_blocks),
        cmocka_unit_test(widens_f16_exactly),
        cmocka_unit_test(refuses_with_a_sentence),
        cmocka_unit_test(refuses_every_other_length),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(survives_any_byte),
    };
    return cmocka_run_group_tests_name("npy", tests, create_file, remove_file);
}
