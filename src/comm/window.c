// SPDX-License-Identifier: Apache-2.0
// Windows. One memfd holds the parts of all ranks: rank 0 makes it and hands it around, each
// process maps it once. Every decision is exchanged before it takes effect, so all ranks return the
// same status.

#include "comm/window.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"
#include "base/public.h"
#include "base/error.h"
#include "base/options.h"
#include "base/trace.h"
#include "boot/inbox.h"
#include "comm/heap.h"
#include "comm/registry.h"
#include "mem/memfd.h"

static _Atomic uint32_t generations; // of windows that this process has made, or tried to

static bool is_here(const tern_window *window, int rank)
{
    const struct tern__group *group = &window->comm->group;
    return tern__job_is_here(group->job, group->members[rank]);
}

// The parts of ranks on this machine; those of others are not of this memory.
static size_t bytes_here(const tern_window *window)
{
    size_t here = 0;
    for (int rank = 0; rank < window->nranks; rank++) {
        here += is_here(window, rank);
    }
    return window->size_bytes * here;
}

// Step 1: what each rank asks for.
struct wish {
    uint64_t size_bytes;
    uint64_t untouched_bytes;
    uint32_t flags;
    uint32_t unable;     // no memory for its own bookkeeping
    uint32_t generation; // rank 0's counts: of the window, on all
    uint32_t none;
};
_Static_assert(sizeof(struct wish) == 32, "no gap: it is sent");

// The generation of windows of parts: their job has none of the other sort.
#define OF_PARTS 1u

#define SPARSE 0x80000000u // among the flags: tern__window_create_sparse

// Step 2: what rank 0 found.
struct verdict {
    int32_t status;
    uint32_t too_much; // for the machine
    uint64_t needed;   // 0: more than can be counted
    uint64_t available;
    uint32_t place; // tern__net_window_place
    uint32_t none;
};
_Static_assert(sizeof(struct verdict) == 32, "no gap: it is sent");

static int compare_wishes(const struct wish *wishes, const struct tern__group *group)
{
    for (int rank = 0; rank < group->size; rank++) {
        if (wishes[rank].unable != 0) {
            return tern__fail(TERN_ERR_MEMORY,
                              "tern_window_create: %s has no memory for a window's bookkeeping",
                              tern__rank_name(group, rank).text);
        }
        if (((wishes[rank].flags ^ wishes[0].flags) & SPARSE) != 0) {
            int checks = (wishes[0].flags & SPARSE) != 0 ? 0 : rank;
            return tern__fail(
                TERN_ERR_MISMATCH,
                "tern_window_create: %s has TERN_ISA_CHECK in its environment, %s has "
                "not; all ranks run in checking mode, or none",
                tern__rank_name(group, checks).text,
                tern__rank_name(group, checks == 0 ? rank : 0).text);
        }
        if (wishes[rank].size_bytes != wishes[0].size_bytes ||
            wishes[rank].flags != wishes[0].flags) {
            return tern__fail(TERN_ERR_MISMATCH,
                              "tern_window_create: %s asks for %llu bytes "
                              "with flags 0x%x, %s for %llu bytes with flags 0x%x",
                              tern__rank_name(group, rank).text,
                              (unsigned long long)wishes[rank].size_bytes, wishes[rank].flags,
                              tern__rank_name(group, 0).text,
                              (unsigned long long)wishes[0].size_bytes, wishes[0].flags);
        }
    }
    if (wishes[0].size_bytes == 0) {
        return tern__fail(TERN_ERR_ARG, "tern_window_create: size_bytes is 0; a window has at "
                                        "least 1 byte");
    }
    uint32_t known = TERN_WINDOW_PREFAULT | TERN_WINDOW_HUGE | SPARSE;
    if ((wishes[0].flags & ~known) != 0) {
        return tern__fail(TERN_ERR_ARG, "tern_window_create: flags 0x%x has bits beyond 0x%x",
                          wishes[0].flags, known & ~SPARSE);
    }
    return TERN_OK;
}

// Who makes the memory of the machine that a rank is on: the lowest rank of the group there.
static int maker_of(const struct tern__group *group, int rank)
{
    const struct tern__machines *machines = group->job->machines;
    int maker = 0;
    while (machines != NULL &&
           machines->of[group->members[maker]] != machines->of[group->members[rank]]) {
        maker++;
    }
    return maker;
}

static int map(tern_window *window, int fd, size_t total, bool huge)
{
    void *base = NULL;
    int status;
    if (huge && window->comm->group.job->machines != NULL) {
        uint64_t here = 0;
        for (int rank = 0; rank < window->nranks; rank++) {
            here |= (uint64_t)is_here(window, rank) << rank;
        }
        status = tern__memfd_map_parts(fd, window->size_bytes, window->nranks, here, &base);
    } else {
        status = tern__memfd_map(fd, total, &base);
    }
    if (status == TERN_OK) {
        window->base = base;
    }
    return status;
}

// On the maker: makes and maps the memory if the machine can give it.
static int make_memory(tern_window *window, bool huge, const struct wish *wishes,
                       struct verdict *verdict)
{
    uint64_t promised = 0;
    uint64_t here = 0;
    if (window->comm->group.job->net != NULL) {
        tern__net_windows_reap(window->comm->group.job->net);
    }
    for (int rank = 0; rank < window->nranks; rank++) {
        promised += is_here(window, rank) ? wishes[rank].untouched_bytes : 0;
        here += is_here(window, rank);
    }
    uint64_t wanted = verdict->needed / (uint64_t)window->nranks * here;
    uint64_t available = (uint64_t)tern__memory_available();
    verdict->available = available > promised ? available - promised : 0;
    bool limited = !huge && !window->sparse;
    if (verdict->needed == 0 || (limited && wanted > verdict->available)) {
        verdict->too_much = 1;
        return TERN_ERR_MEMORY;
    }
    TERN_TRY(tern__memfd_create("tern-window", verdict->needed, huge, &window->fd));
    int status = map(window, window->fd, verdict->needed, huge);
    for (int rank = window->rank + 1; rank < window->nranks && status == TERN_OK; rank++) {
        if (!is_here(window, rank)) {
            continue;
        }
        status =
            tern__inbox_send(window->comm->group.job, window->comm->group.members[rank],
                             (uint64_t)window->comm->group.slot << 32 | window->number, window->fd);
    }
    if (status ==
        TERN_ERR_PEER) { // fails the communicator, so that the exchange tells all who died
        tern__group_check(&window->comm->group, true);
    }
    return status;
}

static int word_verdict(const tern_window *window, int maker, const struct verdict *verdict,
                        bool huge)
{
    if (verdict->too_much != 0) {
        return tern__fail(TERN_ERR_MEMORY,
                          "tern_window_create: %llu bytes on each of %d ranks "
                          "cannot be had: %llu bytes are available (of the machine and its cgroup, "
                          "less what other windows of the job may still take)",
                          (unsigned long long)window->size_bytes, window->nranks,
                          (unsigned long long)verdict->available);
    }
    if (verdict->status == TERN_ERR_MEMORY && huge) {
        return tern__fail(TERN_ERR_MEMORY,
                          "tern_window_create: %llu bytes in 2 MiB pages cannot be "
                          "had; /proc/sys/vm/nr_hugepages says how many the machine has reserved",
                          (unsigned long long)verdict->needed);
    }
    return verdict->status == TERN_OK
               ? TERN_OK
               : tern__fail(verdict->status,
                            "tern_window_create: %s could not make the shared "
                            "memory; its own error says why",
                            tern__rank_name(&window->comm->group, maker).text);
}

// On the other ranks: takes and maps what rank 0 has made.
static int take_memory(tern_window *window, size_t total, bool huge)
{
    int fd;
    TERN_TRY(tern__inbox_take(window->comm->group.job,
                              (uint64_t)window->comm->group.slot << 32 | window->number, &fd));
    int status = map(window, fd, total, huge);
    if (window->sparse) { // asked for what of it is still untouched
        window->fd = fd;
    } else {
        close(fd);
    }
    return status;
}

// A core dump reads all that it contains, also pages that nobody has touched: the parts of other
// ranks are in their own cores.
static void choose_dumped(tern_window *window, size_t total)
{
    enum tern__dump dump;
    if (window->sparse) {
        tern__memfd_dump(window->base, total, false);
        return;
    }
    if (tern__dump_option(&dump) != TERN_OK || dump == TERN__DUMP_ALL) {
        return;
    }
    tern__memfd_dump(window->base, total, false);
    if (dump == TERN__DUMP_OWN) {
        tern__memfd_dump(tern__window_at(window, window->rank, 0), window->size_bytes, true);
    }
}

static void fill_context(tern_window *window)
{
    tern_context *context = &window->context;
    context->rankId = (uint32_t)window->rank;
    context->rankNum = (uint32_t)window->nranks;
    context->winSize = window->size_bytes;
    for (int rank = 0; rank < window->nranks; rank++) {
        context->windowsIn[rank] = (uint64_t)(uintptr_t)tern__window_at(window, rank, 0);
        context->windowsOut[rank] = context->windowsIn[rank];
    }
}

static uint64_t name_of(uint32_t generation)
{
    return UINT64_C(1) << 32 | generation;
}

// Of several machines: ranks of others can write to the parts here. Theirs have addresses here, of
// memory that is nowhere: the area's excepted, where what they publish is copied to.
static int share_far(tern_window *window, uint32_t generation)
{
    struct tern__group *group = &window->comm->group;
    for (int rank = 0; rank < window->nranks && !window->sparse; rank++) {
        if (!is_here(window, rank)) {
            TERN_TRY(tern__memfd_close_off(tern__window_at(window, rank, 0), window->size_bytes));
        }
    }
    uint64_t all = group->size == TERN_RANKS_MAX ? UINT64_MAX : (UINT64_C(1) << group->size) - 1;
    uint64_t away = all;
    for (int rank = 0; rank < window->nranks; rank++) {
        away &= is_here(window, rank) ? ~(UINT64_C(1) << rank) : UINT64_MAX;
    }
    struct tern__net_window far = {.slot = (uint32_t)group->slot,
                                   .number = window->number,
                                   .generation = generation,
                                   .slot_generation = group->generation,
                                   .base = window->base,
                                   .size_bytes = window->size_bytes,
                                   .nranks = window->nranks,
                                   .rank = window->rank,
                                   .members = group->members,
                                   .name = name_of(generation),
                                   .all = all,
                                   .away = away};
    if (window->places != NULL) { // a sparse one has none
        far.place = window->places[group->job->machines->mine];
    }
    TERN_TRY(tern__net_window_add(group->job->net, &far));
    window->shared_far = true;
    return TERN_OK;
}

int tern__window_of_parts(tern_comm *comm, void *base, size_t size_bytes, uint32_t number,
                          tern_window **window)
{
    tern_window *made = tern__handle_new(TERN__WINDOW, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a window's bookkeeping");
    }
    made->comm = comm;
    memcpy(made->xports, comm->xports, sizeof made->xports);
    made->xport = tern__xport_find("shm");
    made->base = base;
    made->size_bytes = size_bytes;
    made->rank = comm->group.rank;
    made->nranks = comm->group.size;
    made->number = number;
    made->fd = -1;
    made->sparse = number == TERN__AREA_NUMBER;
    choose_dumped(made, size_bytes * (size_t)made->nranks);
    fill_context(made);
    int status = comm->group.job->net == NULL ? TERN_OK : share_far(made, OF_PARTS);
    status = made->sparse || status != TERN_OK ? status : tern__registry_add(made);
    if (status != TERN_OK) {
        if (made->shared_far) {
            tern__net_window_remove(comm->group.job->net, base);
        }
        tern__handle_free(made, sizeof *made);
        return status;
    }
    if (!made->sparse) {
        tern__comm_gains(comm, TERN__CHILD_WINDOW);
    }
    *window = made;
    return TERN_OK;
}

// Everything after the wishes agree. On failure the caller frees what was got.
static int build_window(tern_window *window, const struct wish *wishes)
{
    struct tern__group *group = &window->comm->group;
    bool huge = (wishes[0].flags & TERN_WINDOW_HUGE) != 0;
    size_t unit = huge ? TERN_HUGE_PAGE_BYTES : tern__page_bytes();
    size_t size = tern__round_up(wishes[0].size_bytes, unit);
    size_t total = 0;
    if (size == 0 || __builtin_mul_overflow(size, (size_t)window->nranks, &total)) {
        size = wishes[0].size_bytes;
        total = 0;
    }
    window->size_bytes = size;
    struct verdict mine = {.needed = total};
    struct verdict verdicts[TERN_RANKS_MAX];
    char detail[TERN_ERROR_BYTES] = "";
    if (window->rank == maker_of(group, group->rank)) {
        mine.status = make_memory(window, huge, wishes, &mine);
        if (mine.status == TERN_OK && window->places != NULL) {
            mine.status =
                tern__net_window_place(group->job->net, name_of(wishes[0].generation), &mine.place);
            window->placed = mine.status == TERN_OK;
            window->places[group->job->machines->mine] = mine.place;
        }
        bool worded = mine.too_much != 0 || (huge && mine.status == TERN_ERR_MEMORY);
        if (mine.status != TERN_OK && !worded) {
            strcpy(detail, tern_last_error()); // a reason that only this rank knows
        }
    }
    TERN_TRY(tern__group_exchange(group, TERN__MEETING_WINDOW, &mine, sizeof mine, verdicts));
    int status = TERN_OK;
    for (int rank = 0; rank < window->nranks && status == TERN_OK; rank++) {
        if (window->places != NULL) {
            window->places[group->job->machines->of[group->members[rank]]] =
                verdicts[maker_of(group, rank)].place;
        }
        if (rank == maker_of(group, rank)) {
            status = word_verdict(window, rank, &verdicts[rank], huge);
        }
    }
    if (status != TERN_OK) {
        return detail[0] != '\0' ? tern__fail(status, "tern_window_create: %.900s", detail)
                                 : status;
    }
    if (window->rank != maker_of(group, group->rank)) {
        status = take_memory(window, total, huge);
    }
    if (status == TERN_OK && group->job->net != NULL) {
        status = share_far(window, wishes[0].generation);
    }
    if (status == TERN_OK) {
        choose_dumped(window, total);
    }
    if (status == TERN_OK && (wishes[0].flags & TERN_WINDOW_PREFAULT) != 0) {
        status = tern__memfd_prefault(tern__window_at(window, window->rank, 0), size);
    }
    if (status == TERN_OK) {
        fill_context(window);
        status = window->sparse ? TERN_OK : tern__registry_add(window);
    }
    int32_t own_status = status;
    int32_t statuses[TERN_RANKS_MAX];
    TERN_TRY(tern__group_exchange(group, TERN__MEETING_WINDOW, &own_status, sizeof own_status,
                                  statuses));
    for (int rank = 0; rank < window->nranks; rank++) {
        if (statuses[rank] != TERN_OK && status == TERN_OK) {
            status =
                tern__fail(statuses[rank], "tern_window_create: %s could not map its window (%s)",
                           tern__rank_name(group, rank).text, tern_status_text(statuses[rank]));
        }
    }
    return status;
}

// All but this rank's own part, which the network keeps.
static void unmap_others(const tern_window *window)
{
    size_t before = window->size_bytes * (size_t)window->rank;
    size_t after = window->size_bytes * (size_t)(window->nranks - window->rank - 1);
    tern__memfd_unmap(window->base, before);
    tern__memfd_unmap(tern__window_at(window, window->rank, 0) + window->size_bytes, after);
}

// Ranks on other machines that have not destroyed it go on using it. True when the memory has been
// seen to.
static bool let_go_far(tern_window *window, bool keeps_memory)
{
    struct tern__net *net = window->comm->group.job->net;
    if (net == NULL || !window->shared_far) {
        return false;
    }
    char *own = tern__window_at(window, window->rank, 0);
    if (window->places == NULL || tern__comm_check(window->comm) != TERN_OK) {
        tern__net_window_remove(net, window->base);
        return false;
    }
    char *kept = keeps_memory ? tern__memfd_alias(own, window->size_bytes) : own;
    if (kept == NULL) {
        tern__net_window_remove(net, window->base);
        return true;
    }
    tern__net_window_retire(net, window->base, kept, window->places);
    if (!keeps_memory) {
        unmap_others(window);
    }
    return true;
}

static void free_window(tern_window *window, bool keeps_memory)
{
    tern__registry_remove(window);
    if (!let_go_far(window, keeps_memory) && !keeps_memory) {
        tern__memfd_unmap(window->base, window->size_bytes * (size_t)window->nranks);
    }
    free(window->places);
    if (window->fd >= 0) {
        tern__promised_remove(&window->promised);
        close(window->fd);
    }
    tern__handle_free(window, sizeof *window);
}

// There came no window of it, on any rank.
static void unplace(tern_window *window)
{
    const struct tern__job *job = window->comm->group.job;
    if (window->placed && window->places != NULL && job->net != NULL) {
        tern__net_window_unplace(job->net, window->places[job->machines->mine]);
    }
    free(window->places);
    window->places = NULL;
}

static int create(tern_comm *comm, size_t size_bytes, uint32_t flags, tern_window **window)
{
    struct tern__group *group = &comm->group;
    TERN_TRY(tern__group_check(group, false));
    tern_window *made = tern__handle_new(TERN__WINDOW, sizeof *made);
    bool placed = group->job->machines != NULL && (flags & SPARSE) == 0;
    uint32_t *places = placed ? calloc(TERN_RANKS_MAX, sizeof *places) : NULL;
    struct wish mine = {.size_bytes = size_bytes,
                        .untouched_bytes = tern__promised_untouched() +
                                           (maker_of(group, group->rank) == group->rank
                                                ? tern__heap_untouched(comm)
                                                : 0),
                        .flags = flags,
                        .generation = (uint32_t)group->job->rank << 24 |
                                      tern__flag_add(&generations, 1) % (1u << 24),
                        .unable = made == NULL || (placed && places == NULL)};
    struct wish wishes[TERN_RANKS_MAX];
    // A sparse one does not count, and there is one at most.
    uint32_t number = (flags & SPARSE) != 0 ? TERN__AREA_NUMBER : comm->windows_made++;
    int status = tern__group_exchange(group, TERN__MEETING_WINDOW, &mine, sizeof mine, wishes);
    if (status == TERN_OK) {
        status = compare_wishes(wishes, group);
    }
    if (status != TERN_OK || made == NULL) {
        free(places);
        tern__handle_free(made, sizeof *made);
        return status;
    }
    made->comm = comm;
    memcpy(made->xports, comm->xports, sizeof made->xports);
    made->xport = tern__xport_find("shm");
    made->rank = group->rank;
    made->nranks = group->size;
    made->number = number;
    made->fd = -1;
    made->sparse = (flags & SPARSE) != 0;
    made->places = places;
    status = build_window(made, wishes);
    if (status != TERN_OK) {
        unplace(made);
        free_window(made, false);
        return status;
    }
    *window = made;
    return TERN_OK;
}

static int window_create(tern_comm *comm, size_t size_bytes, const tern_window_options *options,
                         tern_window **window)
{
    TERN_TRY(tern__comm_lives("tern_window_create", comm));
    int64_t begin_ns = tern__trace_start();
    if (window == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_window_create: window must not be NULL");
    }
    uint32_t flags = options != NULL ? options->flags : 0;
    if ((flags & SPARSE) != 0) {
        flags = ~SPARSE; // refused with the other unknown ones, by all ranks
    }
    TERN_TRY(create(comm, size_bytes, flags, window));
    if ((*window)->fd >= 0) {
        tern__promised_add(&(*window)->promised, (*window)->fd, bytes_here(*window));
    }
    tern__comm_gains(comm, TERN__CHILD_WINDOW);
    tern__trace_add(TERN__TRACE_BARRIER, "tern_window_create", begin_ns, size_bytes);
    return TERN_OK;
}

int tern_window_create(tern_comm *comm, size_t size_bytes, const tern_window_options *options,
                       tern_window **window)
{
    return TERN__CALL(window_create(comm, size_bytes, options, window));
}

int tern__window_create_sparse(tern_comm *comm, size_t size_bytes, tern_window **window)
{
    TERN_TRY(create(comm, size_bytes, SPARSE, window));
    if (!comm->first) { // without a heap, hence never asked
        close((*window)->fd);
        (*window)->fd = -1;
    }
    comm->group.barriers_before = comm->group.barriers;
    return TERN_OK;
}

static int window_destroy(const char *call, tern_window *window, bool keeps_memory)
{
    if (window == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(window, TERN__WINDOW)) { // in a child: its mapping, its copy
        tern__registry_let_go(window);
        if (!keeps_memory) {
            tern__memfd_unmap(window->base, window->size_bytes * (size_t)window->nranks);
        }
        if (window->fd >= 0) {
            close(window->fd);
        }
        free(window->places);
        tern__handle_free(window, sizeof *window);
        return TERN_OK;
    }
    TERN_TRY(tern__window_lives(call, window));
    if (!window->sparse) {
        tern__comm_loses(window->comm, TERN__CHILD_WINDOW);
    }
    free_window(window, keeps_memory);
    return TERN_OK;
}

int tern_window_destroy(tern_window *window)
{
    return TERN__CALL(window_destroy("tern_window_destroy", window, false));
}

int tern_window_release(tern_window *window)
{
    return TERN__CALL(window_destroy("tern_window_release", window, true));
}

size_t tern_window_size(const tern_window *window)
{
    return tern__window_lives("tern_window_size", window) == TERN_OK ? window->size_bytes : 0;
}

void *tern_window_address(const tern_window *window, int rank)
{
    if (tern__window_lives("tern_window_address", window) != TERN_OK) {
        return NULL;
    }
    if (rank < 0 || rank >= window->nranks) {
        tern__set_error("tern_window_address: rank is %d; the window has ranks 0..%d", rank,
                        window->nranks - 1);
        return NULL;
    }
    if (!tern__window_is_mapped(window, rank)) {
        tern__set_error("tern_window_address: %s is on machine %s, so its part has no address "
                        "here; tern_put, tern_get and tern_signal_notify reach it",
                        tern__rank_name(&window->comm->group, rank).text,
                        tern__window_machine(window, rank));
        return NULL;
    }
    return tern__window_at(window, rank, 0);
}

int tern_window_is_local(const tern_window *window, int rank)
{
    TERN_TRY(tern__window_lives("tern_window_is_local", window));
    if (rank < 0 || rank >= window->nranks) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_window_is_local: rank is %d; the window has ranks 0..%d", rank,
                          window->nranks - 1);
    }
    return tern__window_is_mapped(window, rank) ? 1 : 0;
}

const tern_context *tern_window_context(const tern_window *window)
{
    return tern__window_lives("tern_window_context", window) == TERN_OK ? &window->context : NULL;
}

int tern__window_range(tern_window *window, const char *call, int rank, size_t offset_bytes,
                       size_t size_bytes, char **address)
{
    TERN_TRY(tern__window_lives(call, window));
    if (__builtin_expect(rank < 0 || rank >= window->nranks, 0)) {
        return tern__fail(TERN_ERR_ARG, "%s: rank is %d; the window has ranks 0..%d", call, rank,
                          window->nranks - 1);
    }
    if (__builtin_expect(offset_bytes > window->size_bytes ||
                             size_bytes > window->size_bytes - offset_bytes,
                         0)) {
        return tern__fail(TERN_ERR_ARG,
                          "%s: %zu bytes at offset %zu reach beyond the %zu bytes of "
                          "the window",
                          call, size_bytes, offset_bytes, window->size_bytes);
    }
    TERN_TRY(tern__comm_check(window->comm));
    *address = tern__window_at(window, rank, offset_bytes);
    return TERN_OK;
}

int tern__window_sent_far(tern_window *window, int rank)
{
    bool missed = tern__net_missed();
    // Deep: it may have left because of a death that nobody has seen on this machine.
    TERN_TRY(tern__group_check(&window->comm->group, missed));
    return missed ? tern__fail(TERN_ERR_LEFT,
                               "%s on machine %s has left, and its part of window %u "
                               "with it",
                               tern__rank_name(&window->comm->group, rank).text,
                               tern__window_machine(window, rank), window->number)
                  : TERN_OK;
}
