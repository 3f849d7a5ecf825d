// SPDX-License-Identifier: Apache-2.0
// The backends of the comm_* platform API that are tern's own communicator and window: `sim` meets
// at a path on one machine; `tcp`, `mpi` and `ucx` are the job that a launcher has started on
// several, with the engine of that name.

#include "faces/comm_handle.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "comm/comm.h"

static int result(int status)
{
    return status == TERN_OK ? 0 : -1;
}

static int join_at(CommHandle h, int rank, int nranks, const char *rootinfo_path)
{
    if (rootinfo_path == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "comm_init: rootinfo_path must not be NULL: it is where the "
                          "ranks of one machine meet (backend 'sim')");
    }
    return result(tern_init_at(rank, nranks, rootinfo_path, NULL, &h->comm));
}

// Of a handle that is not to be.
static int refuse_job(CommHandle h)
{
    tern_status_ignore(tern_comm_destroy(h->comm));
    h->comm = NULL;
    return -1;
}

// TERN_NET is what tern_init reads.
static int choose_engine(const char *name)
{
    const char *word = getenv("TERN_NET");
    if (word == NULL || *word == '\0') {
        return setenv("TERN_NET", name, 1);
    }
    if (strcmp(word, name) != 0) {
        tern__set_error("comm_init: TERN_COMM_BACKEND is '%s', but TERN_NET is '%.40s'", name,
                        word);
        return -1;
    }
    return 0;
}

static int join_job(CommHandle h, int rank, int nranks, const char *rootinfo_path)
{
    (void)rootinfo_path; // the launcher knows the place
    if (choose_engine(h->backend->name) != 0) {
        return -1;
    }
    if (tern_init(NULL, &h->comm) != TERN_OK) {
        return -1;
    }
    if (rank != tern_comm_rank(h->comm) || nranks != tern_comm_size(h->comm)) {
        tern__set_error("comm_init: rank %d of %d, but this process was started as rank %d of %d",
                        rank, nranks, tern_comm_rank(h->comm), tern_comm_size(h->comm));
        return refuse_job(h);
    }
    if (h->comm->group.away == 0) {
        tern__set_error("comm_init: TERN_COMM_BACKEND is '%s', which is for %s; this job has one "
                        "machine, which is for 'sim'",
                        h->backend->name, h->backend->where);
        return refuse_job(h);
    }
    return 0;
}

static int make_windows(CommHandle h, size_t window_size)
{
    if (tern_window_create(h->comm, window_size, NULL, &h->window) != TERN_OK) {
        h->window = NULL;
        return -1;
    }
    h->context = tern_window_context(h->window);
    h->address = (uint64_t)(uintptr_t)h->context;
    return 0;
}

static int barrier(CommHandle h)
{
    return result(tern_comm_barrier(h->comm));
}

static int publish(CommHandle h, struct tern__comm_domain *domain, uint64_t *address)
{
    (void)h;
    *address = (uint64_t)(uintptr_t)&domain->context;
    return 0;
}

static int make_domain(CommHandle h, struct tern__comm_domain *domain, const uint32_t *rank_ids,
                       size_t window_size)
{
    int ranks[TERN_RANKS_MAX];
    for (size_t i = 0; i < domain->rank_count; i++) {
        ranks[i] = (int)rank_ids[i];
    }
    if (tern_comm_create_group(h->comm, ranks, (int)domain->rank_count, domain->allocation_id,
                               &domain->part) != TERN_OK ||
        tern_window_create(domain->part, window_size, NULL, &domain->window) != TERN_OK) {
        return -1;
    }
    const tern_context *context = tern_window_context(domain->window);
    for (size_t i = 0; i < domain->rank_count; i++) {
        tern__comm_place(domain, i, context->windowsIn[i]);
    }
    return 0;
}

static int domain_barrier(CommHandle h, struct tern__comm_domain *domain)
{
    (void)h;
    return result(tern_comm_barrier(domain->part));
}

static int end_domain(CommHandle h, struct tern__comm_domain *domain)
{
    (void)h;
    int status = tern_window_destroy(domain->window);
    int left = tern_comm_destroy(domain->part); // NULL is allowed, for both
    return result(status != TERN_OK ? status : left);
}

static int leave(CommHandle h)
{
    int status = tern_window_destroy(h->window);
    int left = tern_comm_destroy(h->comm);
    return result(status != TERN_OK ? status : left);
}

#define SHARED                                                                                     \
    .make_windows = make_windows, .barrier = barrier, .publish = publish,                          \
    .make_domain = make_domain, .domain_barrier = domain_barrier, .end_domain = end_domain,        \
    .leave = leave

const struct tern__comm_backend tern__comm_sim = {.name = "sim",
                                                  .where = "one machine",
                                                  .join = join_at,
                                                  SHARED};

const struct tern__comm_backend tern__comm_tcp = {.name = "tcp",
                                                  .where = "several machines",
                                                  .join = join_job,
                                                  SHARED};

const struct tern__comm_backend tern__comm_mpi = {.name = "mpi",
                                                  .where = "several machines, under an MPI",
                                                  .join = join_job,
                                                  SHARED};

const struct tern__comm_backend tern__comm_ucx = {.name = "ucx",
                                                  .where = "several machines, with UCX",
                                                  .join = join_job,
                                                  SHARED};
