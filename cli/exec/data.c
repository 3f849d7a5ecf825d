// SPDX-License-Identifier: Apache-2.0
// The data of `tern exec`: small whole numbers, so that sums are exact in every element type and in any
// order.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exec/exec.h"

#define UNTOUCHED 0xa5 // every byte of an output before a run

// Element i of a rank's input in even runs: whole numbers whose sum over 64 ranks every type holds, or
// factors whose product it does.
static int value_at(const struct exec_job *job, int rank, uint64_t i)
{
    uint64_t hash = (uint64_t)job->arguments->seed * 1000003;
    hash = (hash + (uint64_t)rank) * UINT64_C(0x9e3779b97f4a7c15) + i;
    hash = (hash ^ (hash >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 29;
    if (job->arguments->op == TERN_PROD) {
        return rank < 3 ? 1 + (int)(hash % 3) : 1;
    }
    bool is_unsigned = job->arguments->dtype >= TERN_U8;
    return is_unsigned ? (int)(hash % 4) : (int)(hash % 4) - 1;
}

static int combined_at(const struct exec_job *job, uint64_t i)
{
    int acc = value_at(job, 0, i);
    for (int rank = 1; rank < job->spec->nranks; rank++) {
        int next = value_at(job, rank, i);
        switch (job->arguments->op) {
        case TERN_SUM:
            acc += next;
            break;
        case TERN_PROD:
            acc *= next;
            break;
        case TERN_MAX:
            acc = next > acc ? next : acc;
            break;
        case TERN_MIN:
            acc = next < acc ? next : acc;
            break;
        default: // --op takes no other
            break;
        }
    }
    return acc;
}

// Element i of this rank's output, as tern/plan.h says for the kind.
static int expected_at(const struct exec_job *job, uint64_t i)
{
    uint64_t count = job->spec->bytes / job->spec->unit;
    uint64_t share = count / (uint64_t)job->spec->nranks;
    uint64_t own = (uint64_t)job->rank * share;
    switch (job->spec->kind) {
    case TERN_PLAN_ALL_REDUCE:
    case TERN_PLAN_REDUCE_TO_ROOT:
        return combined_at(job, i);
    case TERN_PLAN_REDUCE_SCATTER:
        return combined_at(job, own + i);
    case TERN_PLAN_ALL_GATHER:
    case TERN_PLAN_GATHER:
        return value_at(job, (int)(i / share), i % share);
    case TERN_PLAN_BROADCAST:
        return value_at(job, job->spec->root, i);
    case TERN_PLAN_SCATTER:
        return value_at(job, job->spec->root, own + i);
    case TERN_PLAN_ALL_TO_ALL:
        return value_at(job, (int)(i / share), own + i % share);
    default: // a barrier has no output
        return 0;
    }
}

// A small whole number as an element; exact in all types.
static void put_element(char *to, tern_dtype dtype, int value)
{
    float single = (float)value;
    double wide = value;
    int64_t whole = value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    uint16_t brain = (uint16_t)(bits >> 16);
    uint32_t exponent = (bits >> 23) & 0xffu;
    uint32_t half = value == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ffu);
    uint16_t narrow = (uint16_t)((bits >> 16 & 0x8000u) | half);
    const void *from = dtype == TERN_F32    ? (const void *)&single
                       : dtype == TERN_F64  ? (const void *)&wide
                       : dtype == TERN_F16  ? (const void *)&narrow
                       : dtype == TERN_BF16 ? (const void *)&brain
                                            : (const void *)&whole;
    memcpy(to, from, tern_dtype_size(dtype));
}

// What odd runs add to every input, and what that adds to every output. Products stay as they are.
static int shift_in(const struct exec_job *job)
{
    return job->run % 2 != 0 && job->arguments->op != TERN_PROD ? 1 : 0;
}

static int shift_out(const struct exec_job *job)
{
    bool reduces = tern_coll_kind_facts(job->spec->kind)->sums;
    bool sums = reduces && job->arguments->op == TERN_SUM;
    return shift_in(job) * (sums ? job->spec->nranks : 1);
}

// Whether this rank has an output: of some kinds only the root has one.
static bool has_output(const struct exec_job *job)
{
    bool root_only = tern_coll_kind_facts(job->spec->kind)->root == TERN_KIND_ROOT_TO;
    return !root_only || job->rank == job->spec->root;
}

int exec_data_prepare(struct exec_job *job, uint64_t in_count, uint64_t out_count)
{
    job->in = malloc(in_count + 1);
    job->expected = malloc((out_count + 1) * sizeof *job->expected);
    if (job->in == NULL || job->expected == NULL) {
        fputs("tern exec: not enough memory for the data\n", stderr);
        return 1;
    }
    for (uint64_t i = 0; i < in_count; i++) {
        job->in[i] = (int8_t)value_at(job, job->rank, i);
    }
    for (uint64_t i = 0; i < out_count; i++) {
        job->expected[i] = (int16_t)expected_at(job, i);
    }
    return 0;
}

// Where there is no output, what lay in its place must still be there.
static int check_untouched(const struct exec_job *job, const char *out, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if ((unsigned char)out[i] != UNTOUCHED) {
            fprintf(stderr,
                    "tern exec: run %ld: rank %d has no output, and byte %llu of its place "
                    "was written\n",
                    job->run + 1, job->rank, (unsigned long long)i);
            return 1;
        }
    }
    return 0;
}

int exec_data_check(const struct exec_job *job, const char *out, uint64_t count)
{
    size_t size = job->spec->unit;
    if (!has_output(job)) {
        return check_untouched(job, out, count * size);
    }
    for (uint64_t i = 0; i < count; i++) {
        char expected[8];
        int value = job->expected[i] + shift_out(job);
        put_element(expected, job->arguments->dtype, value);
        if (memcmp(out + i * size, expected, size) != 0) {
            fprintf(stderr, "tern exec: run %ld: element %llu of the output of rank %d is not %d\n",
                    job->run + 1, (unsigned long long)i, job->rank, value);
            return 1;
        }
    }
    return 0;
}

void exec_data_free(struct exec_job *job)
{
    free(job->in);
    free(job->expected);
}

void exec_data_fill(const struct exec_job *job, char *in, uint64_t in_count, char *out,
                    uint64_t out_bytes)
{
    for (uint64_t i = 0; i < in_count && job->in != NULL; i++) {
        put_element(in + i * job->spec->unit, job->arguments->dtype, job->in[i] + shift_in(job));
    }
    memset(out, UNTOUCHED, out_bytes);
}
