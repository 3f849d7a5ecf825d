// SPDX-License-Identifier: Apache-2.0
// For the tests of the collective calls: every way to make one, blocking by name or as data,
// started and waited for, or prepared.
#ifndef TERN_COLL_CALL_TEST_CALLS_H
#define TERN_COLL_CALL_TEST_CALLS_H

#include "coll/call/test/kit.h"

// The call by the function of its kind. Functions of the caller, orders and algorithms have none.
KIT int kit_named(tern_comm *comm, const tern_coll *k)
{
    switch (k->kind) {
    case TERN_COLL_ALL_REDUCE:
        return tern_all_reduce(comm, k->in, k->out, k->count, k->dtype, k->op);
    case TERN_COLL_REDUCE_SCATTER:
        return tern_reduce_scatter(comm, k->in, k->out, k->count, k->dtype, k->op);
    case TERN_COLL_ALL_GATHER:
        return tern_all_gather(comm, k->in, k->out, k->count, k->dtype);
    case TERN_COLL_BROADCAST:
        return tern_broadcast(comm, k->in, k->out, k->count, k->dtype, k->root);
    case TERN_COLL_ALL_TO_ALL:
        return tern_all_to_all(comm, k->in, k->out, k->count, k->dtype);
    case TERN_COLL_BARRIER:
        return tern_barrier(comm);
    case TERN_COLL_REDUCE:
        return tern_reduce(comm, k->in, k->out, k->count, k->dtype, k->op, k->root);
    case TERN_COLL_GATHER:
        return tern_gather(comm, k->in, k->out, k->count, k->dtype, k->root);
    case TERN_COLL_SCATTER:
        return tern_scatter(comm, k->in, k->out, k->count, k->dtype, k->root);
    case TERN_COLL_REDUCE_SCATTER_V:
        return tern_reduce_scatter_v(comm, k->in, k->out, k->in_counts, k->dtype, k->op);
    case TERN_COLL_ALL_GATHER_V:
        return tern_all_gather_v(comm, k->in, k->out, k->out_counts, k->out_offsets, k->dtype);
    case TERN_COLL_ALL_TO_ALL_V:
        return tern_all_to_all_v(comm, k->in, k->in_counts, k->in_offsets, k->out, k->out_counts,
                                 k->out_offsets, k->dtype);
    case TERN_COLL_GATHER_V:
        return tern_gather_v(comm, k->in, k->count, k->out, k->out_counts, k->out_offsets, k->dtype,
                             k->root);
    case TERN_COLL_SCATTER_V:
        return tern_scatter_v(comm, k->in, k->in_counts, k->in_offsets, k->out, k->count, k->dtype,
                              k->root);
    case TERN_COLL_SEND:
        return tern_send(comm, k->in, k->count, k->dtype, k->root);
    case TERN_COLL_RECV:
        return tern_recv(comm, k->out, k->count, k->dtype, k->root);
    }
    return TERN_ERR_ARG;
}

KIT bool kit_is_pair_of_calls(const struct kit_work *w)
{
    return w->c.kind == TERN_COLL_SEND || w->c.kind == TERN_COLL_RECV;
}

// The receiving half of SEND and RECV.
KIT tern_coll kit_receive(const struct kit_work *w)
{
    tern_coll call = w->call;
    call.kind = TERN_COLL_RECV;
    call.in = NULL;
    call.root = ref_from(&w->c, w->rank);
    return call;
}

KIT tern_coll kit_sending(const struct kit_work *w)
{
    tern_coll call = w->call;
    call.out = NULL;
    return call;
}

KIT int kit_start(struct kit_work *w)
{
    tern_comm *comm = w->bench->comms[w->comm];
    w->requests[0] = w->requests[1] = 0;
    if (!kit_is_pair_of_calls(w)) {
        return tern_coll_start(comm, &w->call, &w->requests[0]);
    }
    tern_coll sending = kit_sending(w);
    tern_coll receiving = kit_receive(w);
    bool receives_first = ref_mix(w->c.seed, 6, (uint64_t)w->rank) % 2 == 0;
    int status = TERN_OK;
    if (receives_first) {
        status = tern_coll_start(comm, &receiving, &w->requests[1]);
    }
    if (status == TERN_OK) {
        status = tern_coll_start(comm, &sending, &w->requests[0]);
    }
    if (status == TERN_OK && !receives_first) {
        status = tern_coll_start(comm, &receiving, &w->requests[1]);
    }
    return status;
}

KIT int kit_prepare(struct kit_work *w)
{
    tern_comm *comm = w->bench->comms[w->comm];
    w->requests[0] = w->requests[1] = 0;
    if (!kit_is_pair_of_calls(w)) {
        return tern_coll_prepare(comm, &w->call, &w->requests[0]);
    }
    tern_coll sending = kit_sending(w);
    tern_coll receiving = kit_receive(w);
    int status = tern_coll_prepare(comm, &sending, &w->requests[0]);
    return status == TERN_OK ? tern_coll_prepare(comm, &receiving, &w->requests[1]) : status;
}

// Begins what was prepared.
KIT int kit_begin(struct kit_work *w)
{
    int status = tern_request_start(w->requests[0]);
    return status == TERN_OK && kit_is_pair_of_calls(w) ? tern_request_start(w->requests[1])
                                                        : status;
}

KIT int kit_wait(struct kit_work *w)
{
    int status = tern_request_wait(&w->requests[0]);
    int other = tern_request_wait(&w->requests[1]);
    return status < 0 ? status : other < 0 ? other : TERN_OK;
}

KIT int kit_release(struct kit_work *w)
{
    int status = tern_request_free(&w->requests[0]);
    return status == TERN_OK && w->requests[1] != 0 ? tern_request_free(&w->requests[1]) : status;
}

// Blocking. Who sends first cannot be all: even ranks do.
KIT int kit_exchange(struct kit_work *w, bool by_name)
{
    tern_comm *comm = w->bench->comms[w->comm];
    int (*run)(tern_comm *, const tern_coll *) = by_name ? kit_named : tern_coll_run;
    tern_coll sending = kit_sending(w);
    tern_coll receiving = kit_receive(w);
    if (sending.root == w->rank) { // to itself
        tern_request request = 0;
        bool receives_first = ref_mix(w->c.seed, 7, 7) % 2 == 0;
        int status = tern_coll_start(comm, receives_first ? &receiving : &sending, &request);
        status = status < 0 ? status : run(comm, receives_first ? &sending : &receiving);
        int other = tern_request_wait(&request);
        return status < 0 ? status : other < 0 ? other : TERN_OK;
    }
    bool sends_first = w->rank % 2 == 0;
    int status = run(comm, sends_first ? &sending : &receiving);
    return status < 0 ? status : run(comm, sends_first ? &receiving : &sending);
}

enum kit_mode { KIT_BY_NAME, KIT_RUN, KIT_WAIT, KIT_TEST, KIT_PERSISTENT, KIT_MODES };

KIT int kit_wait_by_testing(struct kit_work *w)
{
    for (int i = 0; i < 2; i++) {
        int status;
        while ((status = tern_request_test(&w->requests[i])) == 0) {
        }
        if (status < 0) {
            return status;
        }
    }
    return TERN_OK;
}

// Runs the call and compares; KIT_PERSISTENT twice, with other inputs. 0, or 1 and says what is
// wrong.
KIT int kit_run(struct kit_work *w, enum kit_mode mode)
{
    tern_comm *comm = w->bench->comms[w->comm];
    int status = TERN_OK;
    char text[400];
    kit_fill(w);
    if (mode == KIT_PERSISTENT) {
        status = kit_prepare(w);
        for (int run = 0; run < 2 && status >= 0; run++) {
            status = kit_begin(w);
            status = status < 0 ? status : kit_wait(w);
            if (run == 0 && status >= 0) {
                if (kit_compare(w, true) != 0) {
                    return 1;
                }
                w->c.seed = ref_is_v(w->c.kind) ? w->c.seed : w->c.seed + 1; // shares stay
                kit_fill(w);
            }
        }
        status = status < 0 ? status : kit_release(w);
    } else if (mode == KIT_WAIT || mode == KIT_TEST) {
        status = kit_start(w);
        status = status < 0 ? status : mode == KIT_WAIT ? kit_wait(w) : kit_wait_by_testing(w);
    } else if (kit_is_pair_of_calls(w)) {
        status = kit_exchange(w, mode == KIT_BY_NAME);
    } else {
        status = mode == KIT_BY_NAME ? kit_named(comm, &w->call) : tern_coll_run(comm, &w->call);
    }
    if (status < 0 || w->requests[0] != 0 || w->requests[1] != 0) {
        kit_describe(w, text, sizeof text);
        fprintf(stderr, "%s: status %d (%s)\n", text, status, tern_last_error());
        return 1;
    }
    return kit_compare(w, true);
}

// Now and then a rank is late.
KIT void kit_dawdle(const struct kit_bench *b, uint64_t moment)
{
    uint64_t chance = ref_mix(moment, (uint64_t)b->rank, 99);
    if (chance % 32 == 0) {
        usleep((unsigned)(chance >> 8) % 300);
    }
}

#endif
