// SPDX-License-Identifier: Apache-2.0
// tern_init and tern_init_at: what a process is told is read whole, then it joins its job, and gets
// the job's first communicator. Set-up path.

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/order.h"
#include "base/public.h"
#include "base/trace.h"
#include "boot/exchange.h"
#include "boot/join.h"
#include "boot/listen.h"
#include "comm/comm.h"
#include "isa/block.h"
#include "isa/check.h"
#include "start/root.h"
#include "start/tell.h"
#include "tern/tune.h"

// 1 while this process is a rank of the job that launched it; and 1 if it is a fork of one.
static _Atomic uint32_t launched_alive;
static _Atomic uint32_t parent_joined;

static void in_child(void)
{
    if (tern__flag_load(&launched_alive) != 0) {
        tern__flag_store(&parent_joined, 1);
        tern__flag_store(&launched_alive, 0);
    }
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void launched_ended(void)
{
    tern__flag_store(&launched_alive, 0);
}

// The TERN_ variables of this process: a wrong word is to be seen at the start, not in the middle
// of a run.
static int read_words(void)
{
    TERN_TRY(tern__public_options());
    TERN_TRY(tern__block_options());
    TERN_TRY(tern__watch_options());
    return tern_tune_check();
}

static int init(const tern_options *options, tern_comm **comm)
{
    if (comm == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_init: comm must not be NULL");
    }
    int64_t timeout_ns;
    TERN_TRY(read_words());
    TERN_TRY(tern__timeout_option(options != NULL ? options->timeout_ns : 0, &timeout_ns));
    if (tern__flag_load(&parent_joined) != 0 && tern__join_is_launched()) {
        return tern__fail(TERN_ERR_STATE,
                          "tern_init: process %d is a fork of a rank that has joined the job, and "
                          "there is one place for both; tern_init_at makes a job of its own",
                          (int)getpid());
    }
    if (!tern__flag_swap(&launched_alive, 0, 1)) {
        return tern__fail(TERN_ERR_STATE, "tern_init: this process has joined its job already; "
                                          "destroy that communicator first");
    }
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    struct tern__job *job;
    bool launched = tern__join_is_launched();
    struct tern__exchange exchange;
    int status = launched ? 0 : tern__exchange_find(&exchange);
    const char *how = launched      ? "started by tern run"
                      : status == 1 ? exchange.name
                                    : "started by itself";
    status = status == 1  ? tern__join_exchanged(&exchange, timeout_ns, &job)
             : status < 0 ? status
             : launched   ? tern__join_launched(timeout_ns, &job)
                          : tern__join_alone(timeout_ns, &job);
    if (status == TERN_OK) {
        status = tern__comm_first(job, launched_ended, comm);
    }
    if (status != TERN_OK) {
        launched_ended();
        return status;
    }
    tern__start_tell(job, how);
    return TERN_OK;
}

int tern_init(const tern_options *options, tern_comm **comm)
{
    return TERN__CALL(init(options, comm));
}

static int init_root(const struct tern__root *root, int rank, int nranks,
                     const struct tern__deadlines *deadlines, tern_comm **comm)
{
    struct tern__exchange exchange;
    struct tern__job *job;
    TERN_TRY(read_words());
    tern__trace_join(); // where tern run has started it, whose ranks meet elsewhere
    TERN_TRY(tern__exchange_root(root, rank, nranks, &exchange));
    TERN_TRY(tern__join_exchanged(&exchange, deadlines->start_ns, &job));
    job->timeout_ns = deadlines->waits_ns; // before there are threads that read it
    TERN_TRY(tern__comm_first(job, NULL, comm));
    char how[96];
    snprintf(how, sizeof how, "met at %s", tern__address_text(&root->address).text);
    tern__start_tell(job, how);
    return TERN_OK;
}

int tern__init_root(const struct tern__root *root, int rank, int nranks,
                    const struct tern__deadlines *deadlines, tern_comm **comm)
{
    return TERN__CALL(init_root(root, rank, nranks, deadlines, comm));
}

static int init_path(const char *path, int rank, int nranks,
                     const struct tern__deadlines *deadlines, tern_comm **comm)
{
    struct tern__job *job;
    TERN_TRY(read_words());
    tern__trace_join();
    TERN_TRY(tern__join_at(rank, nranks, path, deadlines->start_ns, &job));
    job->timeout_ns = deadlines->waits_ns; // before there are threads that read it
    char how[256];
    snprintf(how, sizeof how, "met at %.240s", path);
    TERN_TRY(tern__comm_first(job, NULL, comm));
    tern__start_tell(job, how);
    return TERN_OK;
}

int tern__init_path(const char *path, int rank, int nranks, const struct tern__deadlines *deadlines,
                    tern_comm **comm)
{
    return TERN__CALL(init_path(path, rank, nranks, deadlines, comm));
}

static int init_at(int rank, int nranks, const char *rendezvous_path, const tern_options *options,
                   tern_comm **comm)
{
    if (comm == NULL || rendezvous_path == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_init_at: rendezvous_path and comm must not be NULL");
    }
    if (nranks < 1 || nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "tern_init_at: nranks is %d; it must be 1..%d", nranks,
                          TERN_RANKS_MAX);
    }
    if (rank < 0 || rank >= nranks) {
        return tern__fail(TERN_ERR_ARG, "tern_init_at: rank is %d; with %d ranks it must be 0..%d",
                          rank, nranks, nranks - 1);
    }
    struct tern__deadlines deadlines;
    TERN_TRY(tern__timeout_option(options != NULL ? options->timeout_ns : 0, &deadlines.start_ns));
    deadlines.waits_ns = deadlines.start_ns;
    return init_path(rendezvous_path, rank, nranks, &deadlines, comm);
}

int tern_init_at(int rank, int nranks, const char *rendezvous_path, const tern_options *options,
                 tern_comm **comm)
{
    return TERN__CALL(init_at(rank, nranks, rendezvous_path, options, comm));
}
