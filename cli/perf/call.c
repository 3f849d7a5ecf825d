// SPDX-License-Identifier: Apache-2.0
// One call of `tern perf`. A rank's output is described as pieces, each of which comes from one
// source or is the reduction of all; the check, and nothing else, is written per kind.

#include "perf/call.h"

#include <string.h>

#include "tern/tune.h"

#define SPOIL 0xa5

uint64_t perf_total(enum perf_kind kind, int nranks, uint64_t bytes, size_t element_bytes)
{
    uint64_t total = bytes / element_bytes;
    if (perf_has(kind, PERF_DIVIDED) && !perf_has(kind, PERF_UNEVEN)) {
        uint64_t count = total / (uint64_t)nranks;
        return (count > 0 ? count : 1) * (uint64_t)nranks;
    }
    return kind == PERF_BARRIER ? 0 : total > 0 ? total : 1;
}

struct cli_data perf_data_of(enum perf_kind kind, const struct perf_options *options)
{
    struct cli_data data = {.dtype = options->dtype,
                            .reduces = perf_has(kind, PERF_REDUCES),
                            .op = options->op,
                            .element_bytes = tern_dtype_size(options->dtype),
                            .exact = options->exact};
    if (data.reduces) {
        data.element_bytes = tern_reduce_element_bytes(options->dtype, options->op);
    }
    return data;
}

static int next_rank(const struct perf_call *call)
{
    return (call->rank + 1) % call->nranks;
}

static int previous_rank(const struct perf_call *call)
{
    return (call->rank + call->nranks - 1) % call->nranks;
}

// Puts input and output where "in place" wants them: both in the memory of the whole.
static void place(struct perf_call *call)
{
    uint64_t own = perf_share_begin(call->kind, call->total, call->nranks, call->rank);
    size_t offset = own * call->data.element_bytes;
    bool has_in = call->in_count > 0;
    bool has_out = call->out_count > 0;
    if (call->kind == PERF_BROADCAST) {
        call->in = call->rank == call->root ? call->out : NULL; // always, as in MPI
        return;
    }
    if (call->in_place && has_in && has_out) {
        char *whole = call->out;
        bool in_share = perf_in_extent(call->kind) == PERF_SHARE;
        bool out_share = perf_out_extent(call->kind) == PERF_SHARE;
        call->in = whole + (in_share ? offset : 0);
        call->out = whole + (out_share ? offset : 0);
    }
    call->in = has_in ? call->in : NULL;
    call->out = has_out ? call->out : NULL;
}

static void describe_shares(struct perf_call *call)
{
    for (int rank = 0; rank < call->nranks; rank++) {
        uint64_t share = perf_share(call->kind, call->total, call->nranks, rank);
        call->in_counts[rank] = share;
        call->out_counts[rank] = share;
        if (call->kind == PERF_ALL_TO_ALL_V) {
            call->in_counts[rank] =
                perf_block(call->kind, call->total, call->nranks, call->rank, rank);
            call->out_counts[rank] =
                perf_block(call->kind, call->total, call->nranks, rank, call->rank);
        }
    }
}

void perf_call_make(struct perf_call *call, const struct perf_options *options, enum perf_kind kind,
                    uint64_t total, int rank, int nranks, char *in, char *out)
{
    int root = options->root;
    *call = (struct perf_call){.kind = kind,
                               .rank = rank,
                               .nranks = nranks,
                               .root = root,
                               .total = total,
                               .in_place = options->in_place,
                               .data = perf_data_of(kind, options),
                               .in_count = perf_in(kind, total, nranks, rank, root),
                               .out_count = perf_out(kind, total, nranks, rank, root),
                               .in = in,
                               .out = out};
    place(call);
    bool even_shares = perf_has(kind, PERF_DIVIDED) && !perf_has(kind, PERF_UNEVEN);
    tern_coll *coll = &call->coll;
    *coll = (tern_coll){.kind = kind == PERF_SEND_RECV // its receiving half; both have a function
                                    ? TERN_COLL_RECV
                                    : (tern_coll_kind)perf_shapes[kind].number,
                        .in = call->in,
                        .out = call->out,
                        .count = even_shares ? total / (uint64_t)nranks : total,
                        .dtype = options->dtype,
                        .op = call->data.reduces ? options->op : TERN_SUM,
                        .root = kind == PERF_SEND_RECV ? previous_rank(call) : root,
                        .order = options->order};
    if (perf_has(kind, PERF_UNEVEN)) {
        describe_shares(call);
        const struct perf_shape *shape = &perf_shapes[kind];
        coll->count = shape->root != PERF_ROOT_NONE ? call->in_counts[rank] : 0;
        coll->in_counts = shape->in == PERF_HOLDS_ALL ? call->in_counts : NULL;
        coll->out_counts = shape->out == PERF_HOLDS_ALL ? call->out_counts : NULL;
    }
}

int perf_call_judge(const struct perf_options *options, enum perf_kind kind, int nranks)
{
    char nothing[1]; // addresses do not matter
    tern_coll_choice choice;
    struct perf_call call;
    size_t element = perf_data_of(kind, options).element_bytes;
    uint64_t total = perf_total(kind, nranks, options->sizes[0], element);
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < options->nalgos; i++) {
        perf_call_make(&call, options, kind, total, 0, nranks, nothing, nothing);
        call.coll.algorithm = options->algos[i];
        status = tern_coll_select(&call.coll, nranks, options->memory != PERF_MALLOC, &choice);
    }
    return status;
}

static int send_recv(tern_comm *comm, const struct perf_call *call)
{
    return tern_send_recv(comm, call->in, call->total, next_rank(call), call->out, call->total,
                          previous_rank(call), call->coll.dtype);
}

int perf_call_run(tern_comm *comm, const struct perf_call *call)
{
    if (call->recorded != NULL) {
        return tern_exec_run(call->recorded);
    }
    return call->kind == PERF_SEND_RECV ? send_recv(comm, call) : tern_coll_run(comm, &call->coll);
}

static bool overlaps(const struct perf_call *call)
{
    bool both = call->in_count > 0 && call->out_count > 0;
    return both && (call->in_place || call->kind == PERF_BROADCAST);
}

void perf_call_fill(const struct perf_call *call, uint64_t run)
{
    size_t element = call->data.element_bytes;
    if (call->out != NULL) {
        bool guarded = !overlaps(call);
        memset(call->out, SPOIL, call->out_count * element + (guarded ? PERF_GUARD_BYTES : 0));
    }
    if (call->in != NULL) {
        cli_fill(&call->data, cli_source(call->rank, run), 0, call->in_count, call->in);
    }
}

// `count` elements of `source` from `first` on, at `at` of the output.
static uint64_t wrong_copy(const struct perf_call *call, uint64_t run, int source, uint64_t first,
                           uint64_t count, uint64_t at)
{
    uint64_t from = cli_source(source, run);
    return cli_wrong(&call->data, &from, 1, first, count,
                     call->out + at * call->data.element_bytes);
}

static uint64_t wrong_sum(const struct perf_call *call, uint64_t run, uint64_t first)
{
    uint64_t sources[TERN_RANKS_MAX];
    for (int rank = 0; rank < call->nranks; rank++) {
        sources[rank] = cli_source(rank, run);
    }
    return cli_wrong(&call->data, sources, call->nranks, first, call->out_count, call->out);
}

static uint64_t wrong_exchange(const struct perf_call *call, uint64_t run)
{
    uint64_t wrong = 0;
    uint64_t at = 0;
    for (int from = 0; from < call->nranks; from++) {
        uint64_t first = 0;
        for (int to = 0; to < call->rank; to++) {
            first += perf_block(call->kind, call->total, call->nranks, from, to);
        }
        uint64_t count = perf_block(call->kind, call->total, call->nranks, from, call->rank);
        wrong += wrong_copy(call, run, from, first, count, at);
        at += count;
    }
    return wrong;
}

static uint64_t wrong_output(const struct perf_call *call, uint64_t run)
{
    uint64_t wrong = 0;
    uint64_t own = perf_share_begin(call->kind, call->total, call->nranks, call->rank);
    switch (call->kind) {
    case PERF_ALL_REDUCE:
    case PERF_REDUCE:
        return wrong_sum(call, run, 0);
    case PERF_REDUCE_SCATTER:
    case PERF_REDUCE_SCATTER_V:
        return wrong_sum(call, run, own);
    case PERF_BROADCAST:
        return wrong_copy(call, run, call->root, 0, call->total, 0);
    case PERF_SCATTER:
    case PERF_SCATTER_V:
        return wrong_copy(call, run, call->root, own, call->out_count, 0);
    case PERF_SEND_RECV:
        return wrong_copy(call, run, previous_rank(call), 0, call->total, 0);
    case PERF_ALL_TO_ALL:
    case PERF_ALL_TO_ALL_V:
        return wrong_exchange(call, run);
    case PERF_ALL_GATHER:
    case PERF_ALL_GATHER_V:
    case PERF_GATHER:
    case PERF_GATHER_V:
        for (int from = 0; from < call->nranks; from++) {
            uint64_t at = perf_share_begin(call->kind, call->total, call->nranks, from);
            uint64_t count = perf_share(call->kind, call->total, call->nranks, from);
            wrong += wrong_copy(call, run, from, 0, count, at);
        }
        return wrong;
    case PERF_BARRIER:
    case PERF_KINDS:
        break;
    }
    return 0;
}

uint64_t perf_call_wrong(const struct perf_call *call, uint64_t run)
{
    uint64_t wrong = call->out != NULL ? wrong_output(call, run) : 0;
    if (overlaps(call)) {
        return wrong;
    }
    if (call->in != NULL) {
        uint64_t own = cli_source(call->rank, run);
        wrong += cli_wrong(&call->data, &own, 1, 0, call->in_count, call->in);
    }
    const char *guard = call->out + call->out_count * call->data.element_bytes;
    bool spoiled = true;
    for (int i = 0; call->out != NULL && i < PERF_GUARD_BYTES; i++) {
        spoiled = spoiled && (unsigned char)guard[i] == SPOIL;
    }
    return wrong + !spoiled;
}

// Every element that some output depends on is read once, every element of an output is written
// once. In place, a rank's own share is already where it belongs, and so is the root's of a
// broadcast.
uint64_t perf_bound_bytes(const struct perf_call *call)
{
    enum perf_kind kind = call->kind;
    uint64_t elements = 0;
    for (int rank = 0; rank < call->nranks; rank++) {
        uint64_t in = perf_in(kind, call->total, call->nranks, rank, call->root);
        uint64_t out = perf_out(kind, call->total, call->nranks, rank, call->root);
        uint64_t own = perf_share(kind, call->total, call->nranks, rank);
        elements += in + out;
        if (kind == PERF_BROADCAST && rank == call->root) {
            elements -= out;
        } else if (call->in_place && in > 0 && out > 0) {
            elements -= kind == PERF_ALL_GATHER ? own : 0; // still read by the others
            bool moves_not = kind == PERF_GATHER || kind == PERF_SCATTER || kind == PERF_ALL_TO_ALL;
            elements -= moves_not ? 2 * own : 0;
        }
    }
    return elements * call->data.element_bytes;
}

double perf_bus_factor(enum perf_kind kind, int nranks)
{
    double others = (double)(nranks - 1) / (double)nranks;
    int crossings = perf_shapes[kind].crossings;
    return crossings > 0 ? crossings * others : 1;
}
