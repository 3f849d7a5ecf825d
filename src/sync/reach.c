// SPDX-License-Identifier: Apache-2.0
// Reading the memory of other ranks, and writing into it.

#include "sync/reach.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "sync/alive.h"

// Before the kernel copies it takes hold of the pages of the other process, for which there is a
// lock for each 2 MiB of addresses. Two processes that do so at once take four times as long: 256
// KiB 40 us instead of 10; one that is 6 us behind the other, 12. So of more than two ranks, which
// may all read one, each waits until the one before is through with that: half of the time of a
// call. By the clock, so that nobody has to give anything back, and who dies holds nobody up.
#define AREA_SHIFT 21
#define PAGE_SHIFT 12
#define TURN_LEAST (UINT64_C(48) << 10)
#define TURN_MOST (UINT64_C(1) << 20)
#define TURNS_MOST (UINT64_C(4) << 20) // of more each comes to another area than the others, soon
#define WAIT_MOST_NS UINT64_C(5000000) // 64 ranks, 1 MiB; a later time is of no clock of ours
#define YIELD_NS UINT64_C(2000)
static _Atomic uint32_t page_ns = 200; // the least that a page has taken this process

// How long a process that has no memory any more may take to be gone.
#define GOING_MS 1000

static _Atomic uint32_t forbidden; // 1: the kernel has refused this process to read a peer

static bool is_off(void)
{
    uint64_t from;
    return tern__direct_option(&from) != TERN_OK || from == TERN__DIRECT_OFF;
}

bool tern__reach_hoped(void)
{
    return !is_off() && tern__peek(&forbidden) == 0;
}

void tern__reach_allow(int launcher)
{
    if (!is_off()) { // without Yama there is nothing to allow, and an error that says so
        prctl(PR_SET_PTRACER, launcher > 0 ? (unsigned long)launcher : PR_SET_PTRACER_ANY, 0, 0, 0);
    }
}

static ssize_t read_some(int pid, char *to, uint64_t from, uint64_t bytes)
{
    struct iovec local = {.iov_base = to, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
    return process_vm_readv(pid, &local, 1, &remote, 1, 0);
}

static ssize_t write_some(int pid, char *from, uint64_t to, uint64_t bytes)
{
    struct iovec local = {.iov_base = from, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)to, .iov_len = bytes};
    return process_vm_writev(pid, &local, 1, &remote, 1, 0);
}

static bool takes_turns(const struct tern__group *group, uint64_t bytes)
{
    return group->size > 2 && bytes >= TURN_LEAST && bytes <= TURNS_MOST;
}

static uint64_t piece_of(const struct tern__group *group, uint64_t bytes)
{
    return takes_turns(group, bytes) ? TURN_MOST : TERN__REACH_PIECE;
}

static void await_turn(_Atomic uint64_t *held_until, uint64_t pages)
{
    uint64_t takes_ns = pages * tern__peek(&page_ns) / 2;
    uint64_t until_ns = atomic_load_explicit(held_until, memory_order_relaxed);
    uint64_t now_ns;
    uint64_t begin_ns;
    do {
        now_ns = (uint64_t)tern__now_ns();
        bool waits = until_ns > now_ns && until_ns - now_ns < WAIT_MOST_NS;
        begin_ns = waits ? until_ns : now_ns;
    } while (!atomic_compare_exchange_weak_explicit(held_until, &until_ns, begin_ns + takes_ns,
                                                    memory_order_relaxed, memory_order_relaxed));
    for (; now_ns < begin_ns; now_ns = (uint64_t)tern__now_ns()) {
        if (begin_ns - now_ns > YIELD_NS) {
            sched_yield();
        } else {
            tern__cpu_relax();
        }
    }
}

// A system call on the memory of another process.
typedef ssize_t transfer_fn(int pid, char *local, uint64_t remote, uint64_t bytes);

static ssize_t in_turn(const struct tern__group *group, int rank, transfer_fn *transfer,
                       char *local, uint64_t remote, uint64_t bytes)
{
    struct tern__ctl_rank *owner = &group->job->ctl->ranks[group->members[rank]];
    int pid = (int)tern__peek(&owner->pid);
    if (!takes_turns(group, bytes) || bytes > TURN_MOST) {
        return transfer(pid, local, remote, bytes);
    }
    uint64_t pages = bytes >> PAGE_SHIFT;
    await_turn(&owner->held_until[(remote >> AREA_SHIFT) % TERN__HELD_AREAS], pages);
    int64_t begin_ns = tern__now_ns();
    ssize_t done = transfer(pid, local, remote, bytes);
    uint64_t each_ns = (uint64_t)(tern__now_ns() - begin_ns) / pages;
    if (done == (ssize_t)bytes && each_ns < tern__peek(&page_ns)) {
        tern__poke(&page_ns, (uint32_t)each_ns);
    }
    return done;
}

// Nothing is at address 0; that the kernel says so means that it has looked.
static bool may_read(int pid)
{
    char byte;
    return read_some(pid, &byte, 0, 1) >= 0 || errno == EFAULT;
}

void tern__reach_probe(struct tern__job *job)
{
    uint64_t reads = UINT64_C(1) << job->rank;
    for (int rank = 0; rank < job->nranks && !is_off(); rank++) {
        if (job->pidfd[rank] < 0) {
            continue; // in another pid namespace the number would mean another process
        }
        if (may_read((int)tern__peek(&job->ctl->ranks[rank].pid))) {
            reads |= UINT64_C(1) << rank;
        } else {
            tern__poke(&forbidden, 1);
        }
    }
    // partner: tern__reach_all; all ranks meet in between, to make the area
    atomic_store_explicit(&job->ctl->ranks[job->rank].reads, reads, memory_order_release);
    tern__log(TERN__LOG_DEBUG, "this rank can read the ordinary memory of %d of %d ranks",
              __builtin_popcountll(reads), job->nranks);
}

static uint64_t reads_of(const struct tern__group *group, int rank)
{
    const struct tern__ctl *ctl = group->job->ctl;
    return atomic_load_explicit(&ctl->ranks[group->members[rank]].reads, memory_order_acquire);
}

bool tern__reach_all(const struct tern__group *group)
{
    uint64_t all = 0;
    for (int rank = 0; rank < group->size; rank++) {
        all |= UINT64_C(1) << group->members[rank];
    }
    for (int rank = 0; rank < group->size; rank++) {
        if ((reads_of(group, rank) & all) != all) {
            return false;
        }
    }
    return true;
}

bool tern__reach_both(const struct tern__group *group, int rank)
{
    uint64_t own = UINT64_C(1) << group->members[group->rank];
    uint64_t other = UINT64_C(1) << group->members[rank];
    return (reads_of(group, rank) & own) != 0 && (reads_of(group, group->rank) & other) != 0;
}

// A number means the same process as long as that has not ended: what was read counts only if it is
// so afterwards. Waits for a process that is about to end.
static bool has_ended(const struct tern__job *job, int member, int wait_ms)
{
    struct pollfd end = {.fd = job->pidfd[member], .events = POLLIN};
    return poll(&end, 1, wait_ms) > 0;
}

bool tern__reach_has_ended(const struct tern__group *group, int rank)
{
    const struct tern__job *job = group->job;
    int member = group->members[rank];
    return !tern__life_is_seen(job->ctl, member) && has_ended(job, member, 0);
}

int tern__reach_fail(struct tern__group *group, const struct tern__unread *unread, const char *what)
{
    struct tern__job *job = group->job;
    int rank = unread->rank;
    int member = group->members[rank];
    char byte;
    bool ended = has_ended(job, member, unread->error == ESRCH ? GOING_MS : 0);
    TERN_TRY(tern__group_check(group, true)); // names who has died
    if (ended) {
        return tern__group_fail(group, TERN_ERR_PEER, rank, "%s: %s has ended", what,
                                tern__rank_name(group, rank).text);
    }
    if (unread->error != EFAULT) {
        return tern__group_fail(group, TERN_ERR_SYSTEM, rank,
                                "%s: %s cannot read the memory of %s any more (%s); with "
                                "TERN_DIRECT=off it need not",
                                what, tern__rank_name(group, group->rank).text,
                                tern__rank_name(group, rank).text, strerror(unread->error));
    }
    int pid = (int)tern__peek(&job->ctl->ranks[member].pid);
    bool theirs = read_some(pid, &byte, unread->from, 1) != 1;
    int owner = theirs ? rank : group->rank;
    return tern__group_fail(group, TERN_ERR_ARG, owner,
                            "%s: '%s' of %s has fewer bytes of memory that can be %s than its "
                            "count says; memory of a device needs TERN_DIRECT=off",
                            what, theirs ? "in" : "out", tern__rank_name(group, owner).text,
                            theirs ? "read" : "written");
}

bool tern__reach_copy(const struct tern__group *group, int rank, char *to, uint64_t from,
                      uint64_t bytes, struct tern__unread *unread)
{
    uint64_t most = piece_of(group, bytes);
    ssize_t got;
    for (uint64_t at = 0; at < bytes; at += (uint64_t)got) {
        uint64_t part = bytes - at < most ? bytes - at : most;
        // Less than asked: the next one says why.
        got = in_turn(group, rank, read_some, to + at, from + at, part);
        if (got <= 0) {
            *unread = (struct tern__unread){rank, got < 0 ? errno : EFAULT, from + at};
            return false;
        }
    }
    return true;
}

bool tern__reach_counts(const struct tern__group *group, int rank, uint64_t from,
                        struct tern__unread *unread)
{
    if (tern__reach_has_ended(group, rank)) {
        *unread = (struct tern__unread){rank, ESRCH, from};
        return false;
    }
    return true;
}

bool tern__reach_read(const struct tern__group *group, int rank, char *to, uint64_t from,
                      uint64_t bytes, struct tern__unread *unread)
{
    return tern__reach_copy(group, rank, to, from, bytes, unread) &&
           tern__reach_counts(group, rank, from, unread);
}

// The number is asked about before each piece: that of a process that has ended long ago may be
// another one's, in whose memory nothing must be written.
bool tern__reach_write(const struct tern__group *group, int rank, uint64_t to, const char *from,
                       uint64_t bytes)
{
    uint64_t most = piece_of(group, bytes);
    ssize_t put = 0;
    for (uint64_t at = 0; at < bytes; at += (uint64_t)put) {
        uint64_t part = bytes - at < most ? bytes - at : most;
        if (tern__reach_has_ended(group, rank)) {
            return false;
        }
        put = in_turn(group, rank, write_some, (char *)(uintptr_t)(from + at), to + at, part);
        if (put <= 0) {
            return false;
        }
    }
    return true;
}
