// SPDX-License-Identifier: Apache-2.0
// What a rank can see alone: is the call one that can be made? Writes down what it asks for.

#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/error.h"
#include "coll/call/call.h"

static int check_op(struct tern__coll *call, const tern_coll *from)
{
    call->element_bytes = tern_dtype_size(from->dtype);
    if (call->element_bytes == 0) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no dtype", call->name, (int)from->dtype);
    }
    if (!tern__kinds[call->kind].sums) {
        return TERN_OK;
    }
    call->op = from->op;
    call->element_bytes = tern_reduce_element_bytes(from->dtype, from->op);
    if (call->element_bytes == 0) {
        return strcmp(tern_reduce_op_name(from->op), "unknown op") == 0
                   ? tern__fail(TERN_ERR_ARG, "%s: %d is no reduce op", call->name, (int)from->op)
               : !tern__dtype_is_number(from->dtype)
                   ? tern__fail(TERN_ERR_ARG,
                                "%s: %s is only moved: there is no '%s' of it, but in an op of "
                                "your own (TERN_FUNCTION)",
                                call->name, tern_dtype_name(from->dtype),
                                tern_reduce_op_name(from->op))
                   : tern__fail(TERN_ERR_ARG, "%s: '%s' works on integers, not on %s", call->name,
                                tern_reduce_op_name(from->op), tern_dtype_name(from->dtype));
    }
    if (from->op == TERN_FUNCTION) {
        if (from->function == NULL) {
            return tern__fail(TERN_ERR_ARG, "%s: op is TERN_FUNCTION and function is NULL",
                              call->name);
        }
        call->function = from->function;
        call->function_arg = from->function_arg;
        return TERN_OK;
    }
    call->reduce = tern__reduce_find(from->dtype, from->op);
    return TERN_OK;
}

static int too_large(const struct tern__coll *call)
{
    return tern__fail(TERN_ERR_ARG,
                      "%s: the elements of all %d ranks together are more bytes than "
                      "a size_t can count",
                      call->name, call->calls->nranks);
}

static bool has_in(const struct tern__coll *call)
{
    return tern__kind_has_in(call->kind, call->calls->rank, call->root);
}

static bool has_out(const struct tern__coll *call)
{
    return tern__kind_has_out(call->kind, call->calls->rank, call->root);
}

static int check_sizes(struct tern__coll *call, size_t count)
{
    const tern_kind_facts *kind = &tern__kinds[call->kind];
    uint64_t n = (uint64_t)call->calls->nranks;
    uint64_t all;
    if (__builtin_mul_overflow(count, call->element_bytes, &call->share_bytes) ||
        __builtin_mul_overflow(call->share_bytes, n, &all) || all > SIZE_MAX / 2) {
        return too_large(call);
    }
    uint64_t const bytes[] = {
        [TERN_KIND_NONE] = 0, [TERN_KIND_ONE] = call->share_bytes, [TERN_KIND_ALL] = all};
    call->bytes = tern__kind_has_shares(call->kind) ? all : call->share_bytes;
    call->in_bytes = has_in(call) ? bytes[kind->in] : 0;
    call->out_bytes = has_out(call) ? bytes[kind->out] : 0;
    return TERN_OK;
}

// The bytes from the first to the last element of shares with counts, and whether they overlap.
static int check_counts(const struct tern__coll *call, const char *what, const size_t *counts,
                        const size_t *offsets, bool apart, uint64_t *sum_bytes,
                        uint64_t *reach_bytes)
{
    int n = call->calls->nranks;
    if (counts == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: the counts of %s must not be NULL", call->name, what);
    }
    uint64_t sum = 0;
    uint64_t reach = 0;
    for (int rank = 0; rank < n; rank++) {
        uint64_t bytes;
        uint64_t offset = sum;
        uint64_t end;
        if (__builtin_mul_overflow(counts[rank], call->element_bytes, &bytes) ||
            __builtin_add_overflow(sum, bytes, &sum) || sum > SIZE_MAX / 2 ||
            (offsets != NULL &&
             __builtin_mul_overflow(offsets[rank], call->element_bytes, &offset)) ||
            __builtin_add_overflow(offset, bytes, &end) || end > SIZE_MAX / 2) {
            return too_large(call);
        }
        reach = bytes > 0 && end > reach ? end : reach;
        for (int other = 0; apart && offsets != NULL && other < rank; other++) {
            if (counts[rank] > 0 && counts[other] > 0 &&
                offsets[rank] < offsets[other] + counts[other] &&
                offsets[other] < offsets[rank] + counts[rank]) {
                return tern__fail(TERN_ERR_ARG,
                                  "%s: the shares of rank %d and rank %d overlap in %s", call->name,
                                  other, rank, what);
            }
        }
    }
    *sum_bytes = sum;
    *reach_bytes = reach;
    return TERN_OK;
}

// Sizes of the v-collectives: a list of them belongs to each buffer that holds shares of all ranks.
// in_bytes and out_bytes reach to the last element.
static int check_shares(struct tern__coll *call, const tern_coll *from)
{
    const tern_kind_facts *kind = &tern__kinds[call->kind];
    bool rooted = tern__kind_has_root(call->kind);
    int self = call->calls->rank;
    uint64_t sum = 0;
    uint64_t own;
    if (__builtin_mul_overflow(from->count, call->element_bytes, &own) || own > SIZE_MAX / 2) {
        return too_large(call);
    }
    call->counts = true;
    if (kind->in == TERN_KIND_ALL && has_in(call)) {
        call->in_counts = from->in_counts;
        call->in_offsets = from->ins == NULL ? from->in_offsets : NULL;
        TERN_TRY(check_counts(call, "in", call->in_counts, call->in_offsets, false, &sum,
                              &call->in_bytes));
        own = rooted ? own : call->in_counts[self] * call->element_bytes;
    }
    if (kind->out == TERN_KIND_ALL && has_out(call)) {
        call->out_counts = from->out_counts;
        call->out_offsets = from->outs == NULL ? from->out_offsets : NULL;
        TERN_TRY(check_counts(call, "out", call->out_counts, call->out_offsets, true, &sum,
                              &call->out_bytes));
        own = rooted ? own : call->out_counts[self] * call->element_bytes;
    }
    call->in_bytes = kind->in == TERN_KIND_ONE ? own : call->in_bytes;
    call->out_bytes = kind->out == TERN_KIND_ONE ? own : call->out_bytes;
    call->bytes = rooted ? own : sum; // the other ranks of a root know nothing of its list
    return TERN_OK;
}

static int check_buffers(struct tern__coll *call, const tern_coll *from)
{
    bool in_all = tern__kind_in_all(call->kind);
    bool alike = in_all == tern__kind_out_all(call->kind);
    if (from->ins != NULL || from->outs != NULL) {
        return tern__call_check_lists(call, from);
    }
    call->in_reach = call->in_bytes;
    call->out_reach = call->out_bytes;
    if ((call->in_bytes > 0 && from->in == NULL) || (call->out_bytes > 0 && from->out == NULL)) {
        return tern__fail(TERN_ERR_ARG, "%s: %s must not be NULL", call->name,
                          call->in_bytes > 0 && from->in == NULL ? "in" : "out");
    }
    call->in = call->in_bytes > 0 ? from->in : NULL;
    call->out = call->out_bytes > 0 ? from->out : NULL;
    uintptr_t in = (uintptr_t)call->in;
    uintptr_t out = (uintptr_t)call->out;
    if (in == 0 || out == 0 || in >= out + call->out_bytes || out >= in + call->in_bytes) {
        return TERN_OK;
    }
    uint64_t own = (uint64_t)call->calls->rank * call->share_bytes;
    bool same = alike ? in == out : in_all ? out == in + own : in == out + own;
    if (same && !call->counts) {
        call->in_place = true;
        return TERN_OK;
    }
    return tern__fail(TERN_ERR_ARG, "%s: in and out overlap, %llu bytes at %p and %llu at %p; %s",
                      call->name, (unsigned long long)call->in_bytes, (const void *)call->in,
                      (unsigned long long)call->out_bytes, (const void *)call->out,
                      call->counts ? "with counts they may not"
                      : alike      ? "in place means in == out"
                      : in_all     ? "in place means out == in + rank * count"
                                   : "in place means in == out + rank * count");
}

int tern__call_check_comm(const char *name, struct tern__calls *calls)
{
    int status = tern__comm_check(calls->comm);
    if (status == TERN_OK) {
        return TERN_OK;
    }
    char why[TERN_ERROR_BYTES / 2];
    snprintf(why, sizeof why, "%s", tern_last_error());
    return tern__fail(status, "%s: call %llu was not made: %s", name,
                      (unsigned long long)calls->made + 1, why);
}

int tern__call_check_timeout(const char *name, const struct tern__calls *calls,
                             const tern_coll *from, int64_t *timeout_ns)
{
    if (from->timeout_ns < 0 && from->timeout_ns != TERN_TIMEOUT_DEFAULT) {
        return tern__fail(
            TERN_ERR_ARG,
            "%s: timeout_ns is %lld; it must be above 0, or 0 or TERN_TIMEOUT_DEFAULT "
            "for the communicator's own",
            name, (long long)from->timeout_ns);
    }
    // NULL: it is only looked at, or asked for (question.h).
    const struct tern__job *job = calls->comm != NULL ? calls->comm->group.job : NULL;
    *timeout_ns = from->timeout_ns > 0 ? from->timeout_ns : job != NULL ? job->timeout_ns : 0;
    return TERN_OK;
}

int tern__call_check(const char *name, struct tern__calls *calls, const tern_coll *from,
                     struct tern__coll *call)
{
    memset(call, 0, sizeof *call);
    call->name = name;
    call->calls = calls;
    int plan_kind = tern__kind_facts((int)from->kind)->plan;
    if (plan_kind < 0) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no kind of call", name, (int)from->kind);
    }
    if (!calls->handed) { // else its run has been published: it may end though later ones failed
        TERN_TRY(tern__call_check_comm(name, calls));
    }
    call->kind = from->kind;
    call->plan_kind = (tern_plan_kind)plan_kind;
    call->dtype = from->dtype;
    call->algorithm = from->algorithm;
    call->count = from->count;
    if (from->order != TERN_ORDER_RANK && from->order != TERN_ORDER_ANY) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no order of sums", name, (int)from->order);
    }
    TERN_TRY(tern__call_check_timeout(name, calls, from, &call->timeout_ns));
    call->order = tern__kinds[call->kind].sums ? from->order : TERN_ORDER_RANK;
    if (call->kind == TERN_COLL_BARRIER) {
        call->dtype = TERN_U8;
        call->element_bytes = 1;
        return TERN_OK;
    }
    call->root = tern__kind_has_root(call->kind) ? from->root : 0;
    if (call->root < 0 || call->root >= call->calls->nranks) {
        return tern__fail(TERN_ERR_ARG, "%s: root is %d; the communicator has ranks 0..%d", name,
                          call->root, call->calls->nranks - 1);
    }
    TERN_TRY(check_op(call, from));
    TERN_TRY(tern__kinds[call->kind].counts ? check_shares(call, from)
                                            : check_sizes(call, from->count));
    return check_buffers(call, from);
}
