// SPDX-License-Identifier: Apache-2.0
// The blocking calls.

#include "base/public.h"
#include "base/error.h"
#include "base/trace.h"
#include "coll/call/mail.h"
#include "comm/checking.h"

#define BARRIER_KEY tern__key(TERN_COLL_BARRIER, TERN_U8, 0, 0)

// What a call that is described by its fields is on the short path; false when it has none.
struct fields {
    uint64_t key;
    size_t count;
    const size_t *counts;
};

static bool fields_of(const tern_coll *call, struct fields *fields)
{
    bool counts = tern__kind_facts((int)call->kind)->counts;
    if (call->kind == TERN_COLL_BARRIER) { // whatever the fields are that it has no use for
        *fields = (struct fields){.key = BARRIER_KEY};
        return call->algorithm == NULL && call->order == TERN_ORDER_RANK &&
               call->timeout_ns >= TERN_TIMEOUT_DEFAULT;
    }
    bool packed = call->in_offsets == NULL && call->out_offsets == NULL;
    const size_t *alike = call->in_counts != NULL ? call->in_counts : call->out_counts;
    if (call->algorithm != NULL || call->order != TERN_ORDER_RANK ||
        call->timeout_ns < TERN_TIMEOUT_DEFAULT || call->ins != NULL || call->outs != NULL ||
        (counts && (!packed || alike == NULL || !tern__kind_counts_alike(call->kind)))) {
        return false;
    }
    fields->key = tern__key(call->kind, call->dtype, call->op, call->root);
    fields->count = counts ? 0 : call->count;
    fields->counts = counts ? alike : NULL;
    return true;
}

// Whether it is a v-collective with counts of its own, and says no more than the functions do.
static bool is_plain_shares(const tern_coll *call)
{
    return tern__kind_facts((int)call->kind)->counts && !tern__kind_counts_alike(call->kind) &&
           call->algorithm == NULL && call->order == TERN_ORDER_RANK &&
           call->timeout_ns >= TERN_TIMEOUT_DEFAULT && call->ins == NULL && call->outs == NULL;
}

static bool quick(tern_comm *comm, const tern_coll *call)
{
    struct fields f;
    if (is_plain_shares(call)) {
        return tern__call_quick_again(comm, call);
    }
    return fields_of(call, &f) &&
           tern__call_quick(comm, f.key, call->in, call->out, f.count, f.counts);
}

// What a blocking call is, on the stack of its thread.
union work {
    struct tern__message message;
    struct tern__coll call;
};

static int begin_message(const char *name, struct tern__calls *calls, const tern_coll *from,
                         struct tern__message *message)
{
    TERN_TRY(tern__message_check(name, calls, from, message));
    message->traced_ns = tern__trace_start();
    TERN_TRY(tern__message_check_alone(message));
    return tern__message_begin(message);
}

// *made: it has been made, on the short path.
static int begin_collective(const char *name, struct tern__calls *calls, const tern_coll *from,
                            struct tern__coll *call, bool *made)
{
    struct fields f;
    TERN_TRY(tern__call_check(name, calls, from, call));
    call->traced_ns = tern__trace_start();
    TERN_TRY(tern__call_select(call));
    if (call->counts && call->slot == NULL && !calls->handed && tern__call_quick_shares(call)) {
        *made = true;
        return TERN_OK;
    }
    if (call->counts && call->slot != NULL && !calls->handed && fields_of(from, &f) &&
        tern__call_quick_in_turn(calls, f.key, from->in, from->out, f.count, f.counts)) {
        tern__call_drop(call); // it was new, and is remembered now
        *made = true;
        return TERN_OK;
    }
    call->overlaps = false;
    return tern__call_begin(call);
}

static int run_call(const char *name, tern_comm *comm, const tern_coll *from)
{
    TERN_TRY(tern__comm_lives(name, comm));
    union work work;
    struct tern__calls *calls;
    bool made = false;
    bool message = tern__kind_is_message(from->kind);
    tern__turn_enter(&comm->turn);
    int status = tern__calls_of(name, comm, &calls);
    if (status == TERN_OK) {
        status = message ? begin_message(name, calls, from, &work.message)
                         : begin_collective(name, calls, from, &work.call, &made);
    }
    tern__turn_leave(&comm->turn);
    if (status != TERN_OK || made) {
        return status;
    }
    return message ? tern__message_wait(&work.message) : tern__call_wait(&work.call);
}

// A message out and one in, at once.
struct exchange {
    tern_coll out, in;
};

// The recv begins first, so that the send may be one to this rank itself.
static int begin_exchange(const char *name, struct tern__calls *calls, const struct exchange *from,
                          struct tern__message *out, struct tern__message *in)
{
    TERN_TRY(tern__message_check(name, calls, &from->in, in));
    TERN_TRY(tern__message_check(name, calls, &from->out, out));
    if ((in->peer == calls->rank) != (out->peer == calls->rank)) { // else they meet each other
        TERN_TRY(tern__message_check_alone(in));
        TERN_TRY(tern__message_check_alone(out));
    }
    uintptr_t read = (uintptr_t)out->buffer;
    uintptr_t written = (uintptr_t)in->buffer;
    if (read < written + in->bytes && written < read + out->bytes) {
        return tern__fail(TERN_ERR_ARG, "%s: in and out must not overlap", name);
    }
    in->traced_ns = out->traced_ns = tern__trace_start();
    TERN_TRY(tern__message_begin(in));
    return tern__message_begin(out);
}

static int run_exchange(const char *name, tern_comm *comm, const struct exchange *from)
{
    TERN_TRY(tern__comm_lives(name, comm));
    struct tern__message out;
    struct tern__message in;
    struct tern__calls *calls;
    tern__turn_enter(&comm->turn);
    int status = tern__calls_of(name, comm, &calls);
    status = status == TERN_OK ? begin_exchange(name, calls, from, &out, &in) : status;
    tern__turn_leave(&comm->turn);
    TERN_TRY(status);
    status = tern__message_wait(&out);
    int received = tern__message_wait(&in); // when one fails, both have ended
    return status != TERN_OK ? status : received;
}

// A call, or an exchange, that the short path has not done.
static int run_either(const char *name, tern_comm *comm, const tern_coll *from,
                      const struct exchange *exchange)
{
    tern__public_enter();
    bool lives = tern__handle_lives(comm, TERN__COMM);
    if (lives) {
        tern__checking_tick(comm);
    }
    int status = exchange != NULL ? run_exchange(name, comm, exchange) : run_call(name, comm, from);
    if (lives) {
        tern__checking_join(comm);
    }
    return tern__public_end_outer(name, status);
}

static int run(const char *name, tern_comm *comm, const tern_coll *from)
{
    return run_either(name, comm, from, NULL);
}

int tern_coll_run(tern_comm *comm, const tern_coll *call)
{
    if (call == NULL) {
        return TERN__CALL(tern__fail(TERN_ERR_ARG, "tern_coll_run: call must not be NULL"));
    }
    if (tern__kind_is_message(call->kind) ? tern__message_quick(comm, call) : quick(comm, call)) {
        return TERN_OK;
    }
    return run("tern_coll_run", comm, call);
}

int tern_all_reduce(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype,
                    tern_reduce_op op)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_ALL_REDUCE, dtype, op, 0), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_all_reduce", comm,
               &(tern_coll){.kind = TERN_COLL_ALL_REDUCE,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype,
                            .op = op});
}

int tern_reduce_scatter(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype,
                        tern_reduce_op op)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_REDUCE_SCATTER, dtype, op, 0), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_reduce_scatter", comm,
               &(tern_coll){.kind = TERN_COLL_REDUCE_SCATTER,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype,
                            .op = op});
}

int tern_all_gather(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_ALL_GATHER, dtype, 0, 0), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_all_gather", comm,
               &(tern_coll){.kind = TERN_COLL_ALL_GATHER,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype});
}

int tern_broadcast(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype,
                   int root)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_BROADCAST, dtype, 0, root), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_broadcast", comm,
               &(tern_coll){.kind = TERN_COLL_BROADCAST,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype,
                            .root = root});
}

int tern_reduce(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype,
                tern_reduce_op op, int root)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_REDUCE, dtype, op, root), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_reduce", comm,
               &(tern_coll){.kind = TERN_COLL_REDUCE,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype,
                            .op = op,
                            .root = root});
}

int tern_gather(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype,
                int root)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_GATHER, dtype, 0, root), in, out, count, NULL)) {
        return TERN_OK;
    }
    return run("tern_gather", comm,
               &(tern_coll){.kind = TERN_COLL_GATHER,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype,
                            .root = root});
}

int tern_scatter(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype,
                 int root)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_SCATTER, dtype, 0, root), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_scatter", comm,
               &(tern_coll){.kind = TERN_COLL_SCATTER,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype,
                            .root = root});
}

int tern_all_to_all(tern_comm *comm, const void *in, void *out, size_t count, tern_dtype dtype)
{
    if (tern__call_quick(comm, tern__key(TERN_COLL_ALL_TO_ALL, dtype, 0, 0), in, out, count,
                         NULL)) {
        return TERN_OK;
    }
    return run("tern_all_to_all", comm,
               &(tern_coll){.kind = TERN_COLL_ALL_TO_ALL,
                            .in = in,
                            .out = out,
                            .count = count,
                            .dtype = dtype});
}

int tern_barrier(tern_comm *comm)
{
    if (tern__call_quick(comm, BARRIER_KEY, NULL, NULL, 0, NULL)) {
        return TERN_OK;
    }
    return run("tern_barrier", comm, &(tern_coll){.kind = TERN_COLL_BARRIER, .dtype = TERN_U8});
}

int tern_send(tern_comm *comm, const void *in, size_t count, tern_dtype dtype, int to)
{
    tern_coll call = {.kind = TERN_COLL_SEND, .in = in, .count = count, .dtype = dtype, .root = to};
    return tern__message_quick(comm, &call) ? TERN_OK : run("tern_send", comm, &call);
}

int tern_recv(tern_comm *comm, void *out, size_t count, tern_dtype dtype, int from)
{
    tern_coll call = {
        .kind = TERN_COLL_RECV, .out = out, .count = count, .dtype = dtype, .root = from};
    return tern__message_quick(comm, &call) ? TERN_OK : run("tern_recv", comm, &call);
}

// What could be wrong with the recv is asked before the send is made on the short path.
static bool is_plain(const tern_comm *comm, const struct exchange *exchange)
{
    size_t element = tern_dtype_size(exchange->in.dtype);
    uintptr_t read = (uintptr_t)exchange->out.in;
    uintptr_t written = (uintptr_t)exchange->in.out;
    return element != 0 && tern__handle_lives(comm, TERN__COMM) && written != 0 &&
           exchange->in.root >= 0 && exchange->in.root < comm->group.size &&
           exchange->in.root != comm->group.rank && exchange->in.count < SIZE_MAX / 4 / element &&
           exchange->out.count < SIZE_MAX / 4 / element &&
           (read >= written + exchange->in.count * element ||
            written >= read + exchange->out.count * element);
}

int tern_send_recv(tern_comm *comm, const void *in, size_t in_count, int to, void *out,
                   size_t out_count, int from, tern_dtype dtype)
{
    struct exchange exchange = {
        {.kind = TERN_COLL_SEND, .in = in, .count = in_count, .dtype = dtype, .root = to},
        {.kind = TERN_COLL_RECV, .out = out, .count = out_count, .dtype = dtype, .root = from}};
    if (is_plain(comm, &exchange) && tern__message_quick(comm, &exchange.out)) {
        return tern__message_quick(comm, &exchange.in) ? TERN_OK
                                                       : run("tern_send_recv", comm, &exchange.in);
    }
    return run_either("tern_send_recv", comm, NULL, &exchange);
}

int tern_all_gather_v(tern_comm *comm, const void *in, void *out, const size_t *counts,
                      const size_t *offsets, tern_dtype dtype)
{
    if (offsets == NULL && counts != NULL &&
        tern__call_quick(comm, tern__key(TERN_COLL_ALL_GATHER_V, dtype, 0, 0), in, out, 0,
                         counts)) {
        return TERN_OK;
    }
    return run("tern_all_gather_v", comm,
               &(tern_coll){.kind = TERN_COLL_ALL_GATHER_V,
                            .in = in,
                            .out = out,
                            .dtype = dtype,
                            .out_counts = counts,
                            .out_offsets = offsets});
}

int tern_reduce_scatter_v(tern_comm *comm, const void *in, void *out, const size_t *counts,
                          tern_dtype dtype, tern_reduce_op op)
{
    if (counts != NULL &&
        tern__call_quick(comm, tern__key(TERN_COLL_REDUCE_SCATTER_V, dtype, op, 0), in, out, 0,
                         counts)) {
        return TERN_OK;
    }
    return run("tern_reduce_scatter_v", comm,
               &(tern_coll){.kind = TERN_COLL_REDUCE_SCATTER_V,
                            .in = in,
                            .out = out,
                            .dtype = dtype,
                            .op = op,
                            .in_counts = counts});
}

// With counts of their own.
static int run_shares(const char *name, tern_comm *comm, const tern_coll *call)
{
    return tern__call_quick_again(comm, call) ? TERN_OK : run(name, comm, call);
}

int tern_gather_v(tern_comm *comm, const void *in, size_t count, void *out, const size_t *counts,
                  const size_t *offsets, tern_dtype dtype, int root)
{
    return run_shares("tern_gather_v", comm,
                      &(tern_coll){.kind = TERN_COLL_GATHER_V,
                                   .in = in,
                                   .out = out,
                                   .count = count,
                                   .dtype = dtype,
                                   .root = root,
                                   .out_counts = counts,
                                   .out_offsets = offsets});
}

int tern_scatter_v(tern_comm *comm, const void *in, const size_t *counts, const size_t *offsets,
                   void *out, size_t count, tern_dtype dtype, int root)
{
    return run_shares("tern_scatter_v", comm,
                      &(tern_coll){.kind = TERN_COLL_SCATTER_V,
                                   .in = in,
                                   .out = out,
                                   .count = count,
                                   .dtype = dtype,
                                   .root = root,
                                   .in_counts = counts,
                                   .in_offsets = offsets});
}

int tern_all_to_all_v(tern_comm *comm, const void *in, const size_t *in_counts,
                      const size_t *in_offsets, void *out, const size_t *out_counts,
                      const size_t *out_offsets, tern_dtype dtype)
{
    return run_shares("tern_all_to_all_v", comm,
                      &(tern_coll){.kind = TERN_COLL_ALL_TO_ALL_V,
                                   .in = in,
                                   .out = out,
                                   .dtype = dtype,
                                   .in_counts = in_counts,
                                   .in_offsets = in_offsets,
                                   .out_counts = out_counts,
                                   .out_offsets = out_offsets});
}
