// SPDX-License-Identifier: Apache-2.0
// ctest-threads: none
// Regions: what is refused, what the fields are, and how regions meet, against sets of bytes.
#include "graph/region.h"

#include "kit.h"
#include "support/cmocka.h"

enum { BYTES = 4096, DEPTH = 5, ROUNDS = 60000 };

static tern_region make(uint64_t address, int ndims, const uint32_t *shape, tern_region_dtype dtype)
{
    tern_region region;
    void *memory = (void *)(uintptr_t)address;
    assert_true(fine(tern_region_make(&region, memory, shape, ndims, dtype)));
    return region;
}

#define SHAPE(...) ((const uint32_t[TERN_REGION_DIMS_MAX]){__VA_ARGS__})

static tern_region view(const tern_region *region, const uint32_t *shape, const uint32_t *offset)
{
    tern_region result;
    assert_true(fine(tern_region_view(region, shape, offset, &result)));
    return result;
}

static void what_is_no_region_is_refused(void **state)
{
    (void)state;
    tern_region region;
    const uint32_t *shape = SHAPE(2, 3);
    assert_true(says(tern_region_make(NULL, NULL, shape, 2, TERN_REGION_F32), TERN_ERR_ARG,
                     "region must not be NULL"));
    assert_true(says(tern_region_make(&region, NULL, NULL, 2, TERN_REGION_F32), TERN_ERR_ARG,
                     "shape must not be NULL"));
    assert_true(says(tern_region_make(&region, NULL, shape, 0, TERN_REGION_F32), TERN_ERR_ARG,
                     "0 dimensions; a region has 1..5"));
    assert_true(says(tern_region_make(&region, NULL, shape, 6, TERN_REGION_F32), TERN_ERR_ARG,
                     "6 dimensions"));
    assert_true(says(tern_region_make(&region, NULL, shape, 2, (tern_region_dtype)11), TERN_ERR_ARG,
                     "no dtype 11"));
    assert_true(says(tern_region_make(&region, NULL, SHAPE(65536, 65536), 2, TERN_REGION_I8),
                     TERN_ERR_ARG, "2^32-1 elements"));
    assert_true(says(tern_region_make(&region, NULL, SHAPE(0, 65536, 65536), 3, TERN_REGION_I8),
                     TERN_ERR_ARG, "2^32-1 elements"));
    assert_true(fine(tern_region_make(&region, NULL, SHAPE(UINT32_MAX), 1, TERN_REGION_U64)));
    assert_int_equal(region.buffer_bytes, UINT64_C(8) * UINT32_MAX);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    tern_region region = make(4096, 2, SHAPE(4, 6), TERN_REGION_F32);
    tern_region part = view(&region, SHAPE(4, 3), SHAPE(0, 3));
    tern_region broken = region, result;
    assert_true(says(tern_region_view(&region, SHAPE(4, 4), SHAPE(0, 3), &result), TERN_ERR_ARG,
                     "dimension 1 ends at 7; the region has only 6"));
    assert_true(says(tern_region_view(&part, SHAPE(1, 1), SHAPE(0, UINT32_MAX), &result),
                     TERN_ERR_ARG, "dimension 1 ends at 4294967296"));
    assert_true(says(tern_region_view(NULL, SHAPE(1), SHAPE(0), &result), TERN_ERR_ARG,
                     "tern_region_view: region must not"));
    assert_true(says(tern_region_view(&region, NULL, SHAPE(0), &result), TERN_ERR_ARG, "shape"));
    assert_true(says(tern_region_view(&region, SHAPE(1), NULL, &result), TERN_ERR_ARG, "offset"));
    assert_true(says(tern_region_view(&region, SHAPE(1), SHAPE(0), NULL), TERN_ERR_ARG, "view"));
    assert_true(says(tern_region_reshape(&part, SHAPE(12), 1, &result), TERN_ERR_ARG,
                     "the region is not contiguous"));
    assert_true(says(tern_region_reshape(&region, SHAPE(5, 5), 2, &result), TERN_ERR_ARG,
                     "the shape has 25 elements, the region 24"));
    assert_true(says(tern_region_reshape(&region, SHAPE(24), 1, NULL), TERN_ERR_ARG, "result"));
    assert_true(says(tern_region_reshape(&region, NULL, 1, &result), TERN_ERR_ARG, "shape"));
    assert_true(says(tern_region_transpose(&region, 0, 2, &result), TERN_ERR_ARG,
                     "dimensions 0 and 2; the region has 0..1"));
    assert_true(says(tern_region_transpose(&region, -1, 0, &result), TERN_ERR_ARG, "-1 and 0"));
    assert_true(says(tern_region_transpose(&region, 0, 1, NULL), TERN_ERR_ARG, "result"));
    broken.ndims = 0;
    assert_true(says(tern_region_transpose(&broken, 0, 0, &result), TERN_ERR_ARG,
                     "the region has 0 dimensions"));
    broken.ndims = 2;
    broken.dtype = 99;
    assert_true(
        says(tern_region_view(&broken, SHAPE(1, 1), SHAPE(0), &result), TERN_ERR_ARG, "dtype 99"));
}

static void a_region_outside_of_its_buffer_is_found(void **state)
{
    (void)state;
    tern_region region = make(4096, 2, SHAPE(4, 6), TERN_REGION_F32);
    assert_true(fine(tern__region_check("call", &region)));
    region.buffer_bytes--;
    assert_true(says(tern__region_check("call", &region), TERN_ERR_ARG,
                     "call: the region ends with element 23 of a buffer that has room for 23"));
    region.shape[0] = 0;
    assert_true(fine(tern__region_check("call", &region)));
    region.shape[0] = 1;
    region.start = UINT64_MAX;
    assert_int_equal(tern__region_check("call", &region), TERN_ERR_ARG);
}

static void fields_are_those_that_kernels_read(void **state)
{
    (void)state;
    tern_region region = make(4096, 3, SHAPE(4, 6, 8), TERN_REGION_F16);
    assert_int_equal(region.buffer_bytes, 384);
    assert_true(region.whole && region.all_offsets_zero);
    assert_true(region.owner == TERN_REGION_NO_OWNER && region.version == 0);
    tern_region part = view(&region, SHAPE(2, 3, 8), SHAPE(1, 2, 0));
    part = view(&part, SHAPE(1, 2, 4), SHAPE(1, 1, 4));
    assert_int_equal(part.start, 2 * 48 + 3 * 8 + 4);
    assert_memory_equal(part.offset, SHAPE(2, 3, 4), sizeof part.offset);
    assert_memory_equal(part.raw_shape, region.raw_shape, sizeof part.raw_shape);
    assert_memory_equal(part.stride, SHAPE(48, 8, 1), sizeof part.stride);
    assert_true(!part.whole && !part.all_offsets_zero && !tern_region_is_contiguous(&part));
    assert_int_equal(tern_region_count(&part), 8);
    assert_ptr_equal(tern_region_data(&part), (void *)(uintptr_t)(4096 + 2 * part.start));
    tern_region turned;
    assert_true(fine(tern_region_transpose(&part, 0, 2, &turned)));
    assert_memory_equal(turned.shape, SHAPE(4, 2, 1), sizeof turned.shape);
    assert_memory_equal(turned.stride, SHAPE(1, 8, 48), sizeof turned.stride);
    assert_memory_equal(turned.offset, SHAPE(4, 3, 2), sizeof turned.offset);
    assert_int_equal(turned.start, part.start);
    tern_region rows = view(&region, SHAPE(2, 6, 8), SHAPE(1, 0, 0));
    assert_true(tern_region_is_contiguous(&rows));
    assert_true(fine(tern_region_reshape(&rows, SHAPE(96), 1, &turned)));
    assert_true(turned.whole && turned.start == 48 && turned.ndims == 1);
}

// What a region is, byte by byte.
static void mark(const tern_region *region, uint64_t base, uint8_t *bytes)
{
    memset(bytes, 0, BYTES);
    const size_t size = tern_region_dtype_size(region->dtype);
    uint64_t count = tern_region_count(region);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t left = i, at = region->start;
        for (uint32_t dim = region->ndims; dim-- > 0;) {
            at += left % region->shape[dim] * region->stride[dim];
            left /= region->shape[dim];
        }
        uint64_t first = region->address - base + at * size;
        assert_true(first + size <= BYTES);
        memset(bytes + first, 1, size);
    }
}

static tern_region random_step(const tern_region *region, uint64_t *seed)
{
    tern_region result = *region;
    uint32_t shape[TERN_REGION_DIMS_MAX] = {0}, offset[TERN_REGION_DIMS_MAX] = {0};
    switch (random_below(seed, 4)) {
    case 0:
        assert_true(fine(tern_region_transpose(region, (int)random_below(seed, region->ndims),
                                               (int)random_below(seed, region->ndims), &result)));
        break;
    case 1:
        if (tern_region_is_contiguous(region)) {
            uint64_t left = tern_region_count(region);
            int ndims = 0;
            for (uint32_t factor = 2; ndims < 4 && factor < 9; factor++) {
                if (left % factor == 0 && random_below(seed, 3) > 0) {
                    shape[ndims++] = factor;
                    left /= factor;
                }
            }
            shape[ndims++] = (uint32_t)left;
            assert_true(fine(tern_region_reshape(region, shape, ndims, &result)));
        }
        break;
    default:
        for (uint32_t i = 0; i < region->ndims; i++) {
            offset[i] = (uint32_t)random_below(seed, region->shape[i] / 2 + 1);
            uint64_t most = region->shape[i] - offset[i];
            shape[i] = (uint32_t)(random_below(seed, 2) ? most : random_below(seed, most + 1));
            shape[i] += shape[i] == 0 && most > 0 && random_below(seed, 50) > 0;
        }
        result = view(region, shape, offset);
    }
    return result;
}

static tern_region random_region(uint64_t base, uint64_t *seed)
{
    static const uint32_t shapes[][TERN_REGION_DIMS_MAX] = {{512},          {16, 32},
                                                            {32, 16},       {12, 30},
                                                            {4, 8, 16},     {3, 5, 7, 4},
                                                            {2, 4, 2, 8, 4}};
    const uint32_t *shape = shapes[random_below(seed, 7)];
    uint32_t ndims = 1;
    while (ndims < TERN_REGION_DIMS_MAX && shape[ndims] != 0) {
        ndims++;
    }
    tern_region_dtype dtype =
        random_below(seed, 4) > 0 ? TERN_REGION_F32 : (tern_region_dtype)random_below(seed, 7);
    tern_region region = make(base, (int)ndims, shape, dtype);
    if (random_below(seed, 8) == 0) {
        region.address += random_below(seed, 200);
    }
    for (uint64_t steps = random_below(seed, DEPTH); steps > 0; steps--) {
        region = random_step(&region, seed);
    }
    if (random_below(seed, 40) == 0) { // made by hand: whatever strides, also the same place twice
        region = make(base, 3, SHAPE(4, 5, 6), TERN_REGION_F32);
        for (int i = 0; i < 3; i++) {
            region.stride[i] = (uint32_t)random_below(seed, 40);
        }
    }
    return region;
}

static void overlap_is_that_of_the_bytes(void **state)
{
    (void)state;
    const uint64_t base = 1 << 20;
    uint8_t later_bytes[BYTES], earlier_bytes[BYTES];
    uint64_t seed = random_seed();
    int apart = 0, covers = 0, careful_apart = 0, careful_covers = 0;
    for (int i = 0; i < ROUNDS; i++) {
        tern_region later = random_region(base, &seed), earlier = random_region(base, &seed);
        bool meet = false, contains = true, is_empty = true;
        mark(&later, base, later_bytes);
        mark(&earlier, base, earlier_bytes);
        for (int byte = 0; byte < BYTES; byte++) {
            meet = meet || (later_bytes[byte] && earlier_bytes[byte]);
            contains = contains && (later_bytes[byte] || !earlier_bytes[byte]);
            is_empty = is_empty && !earlier_bytes[byte];
        }
        contains = contains && !is_empty;
        apart += !meet;
        covers += contains;
        switch (tern__region_overlap(&later, &earlier)) {
        case TERN__APART:
            assert_false(meet);
            break;
        case TERN__COVERS:
            assert_true(contains);
            break;
        case TERN__OVERLAPS:
            careful_apart += !meet;
            careful_covers += contains;
        }
    }
    printf("%d pairs: %d apart, of these %d thought to overlap; %d covered, of these %d not seen\n",
           ROUNDS, apart, careful_apart, covers, careful_covers);
    assert_true(apart > ROUNDS / 20 && covers > ROUNDS / 20);
    assert_true(careful_apart < apart / 10 && careful_covers < covers / 10);
}

static void tiles_of_a_matrix_are_told_apart(void **state)
{
    (void)state;
    tern_region matrix = make(4096, 2, SHAPE(256, 256), TERN_REGION_F32), turned, flat;
    tern_region tile = view(&matrix, SHAPE(64, 64), SHAPE(64, 128));
    tern_region beside = view(&matrix, SHAPE(64, 64), SHAPE(64, 192));
    tern_region inside = view(&tile, SHAPE(1, 64), SHAPE(63, 0));
    assert_true(fine(tern_region_transpose(&tile, 0, 1, &turned)));
    assert_true(fine(tern_region_reshape(&matrix, SHAPE(65536), 1, &flat)));
    flat = view(&flat, SHAPE(64), SHAPE(64 * 256 + 64));
    assert_int_equal(tern__region_overlap(&tile, &beside), TERN__APART);
    assert_int_equal(tern__region_overlap(&turned, &beside), TERN__APART);
    assert_int_equal(tern__region_overlap(&flat, &tile), TERN__APART);
    assert_int_equal(tern__region_overlap(&tile, &tile), TERN__COVERS);
    assert_int_equal(tern__region_overlap(&turned, &tile), TERN__COVERS);
    assert_int_equal(tern__region_overlap(&tile, &inside), TERN__COVERS);
    assert_int_equal(tern__region_overlap(&inside, &tile), TERN__OVERLAPS);
    assert_int_equal(tern__region_overlap(&matrix, &turned), TERN__COVERS);
    beside.version = 1;
    assert_int_equal(tern__region_overlap(&beside, &tile), TERN__OVERLAPS);
    assert_int_equal(tern__region_overlap(&tile, &beside), TERN__APART);
    beside.shape[0] = 0;
    assert_int_equal(tern__region_overlap(&beside, &tile), TERN__APART);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_region_is_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_region_outside_of_its_buffer_is_found),
        cmocka_unit_test(fields_are_those_that_kernels_read),
        cmocka_unit_test(overlap_is_that_of_the_bytes),
        cmocka_unit_test(tiles_of_a_matrix_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
