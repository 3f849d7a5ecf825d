// SPDX-License-Identifier: Apache-2.0
// The hub brings the ranks of a job together: it collects one HELLO from each, makes the control
// memory, and answers all of them with it and with one another's inboxes, or all with a sentence.
// It runs in the launcher, or in rank 0 of a job that nothing launched. Set-up path.
//
// The connections are SOCK_SEQPACKET Unix sockets; protocol in boot/wire.h. After all ranks have
// left, the same connections may bring them together again (next generation).
#ifndef TERN_BOOT_HUB_H
#define TERN_BOOT_HUB_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "sync/machines.h"
#include "tern/comm.h"

struct tern__hub;

// token: the job's 128-bit token that HELLOs must carry; NULL lets the hub choose one and accept
// HELLOs without it (rendezvous by path).
int tern__hub_create(int nranks, const uint8_t token[16], struct tern__hub **hub);
void tern__hub_destroy(struct tern__hub *hub);

// The ranks are on several machines, and this hub gathers those of machines->mine.
void tern__hub_place(struct tern__hub *hub, const struct tern__machines *machines);

// The ranks are on several machines and this hub gathers those in `here`, but when they get their
// answer is decided for all machines together: by tern__hub_release or tern__hub_give_up. Nothing
// else ends a gathering; a deadline or a rank that has ended does not. WELCOMEs carry `token`, the
// one of the job. `changed` is called when a rank has come, or is here no more.
void tern__hub_spread(struct tern__hub *hub, uint64_t here, const uint8_t token[16],
                      void (*changed)(void *arg), void *arg);

// Who is here, to be gathered.
struct tern__hub_present {
    uint64_t ranks;
    int64_t left_ns;    // until the deadline that comes first, and the whole of that; INT64_MAX
    int64_t timeout_ns; // when nobody is here
    uint32_t ports[TERN_RANKS_MAX];
    char refusal[160]; // of the last that was refused, or ""
};
void tern__hub_present(const struct tern__hub *hub, struct tern__hub_present *present);

// All ranks of the job have come: welcomes those here. False when one of them has gone meanwhile;
// the others learn that.
bool tern__hub_release(struct tern__hub *hub, const struct tern__machines *machines);
void tern__hub_give_up(struct tern__hub *hub, int status, const char *text);

// The process of a rank of another machine has ended. died: without leaving the job.
void tern__hub_remote_ended(struct tern__hub *hub, int rank, int wait_status, bool died);

// Nobody knows how ranks of another machine ended: that is gone, or has been silent this long.
void tern__hub_remote_gone(struct tern__hub *hub, uint64_t ranks, int32_t silent_ms);

// "rank 3 was killed by signal 9 (Killed) before it joined the job"
void tern__hub_describe_end(int rank, int wait_status, char *text, size_t size);

// Calls before_end when a gathering is about to end, well or not, before anybody is answered: what
// it cleans up is not left behind when this process is killed while the others go on.
void tern__hub_before_end(struct tern__hub *hub, void (*before_end)(void *arg), void *arg);

// Gives a connected socket to the hub, which owns it from now on, also on failure.
int tern__hub_add(struct tern__hub *hub, int fd);

// The descriptors to poll for, at most `capacity` (TERN__HUB_POLL_MAX is enough); returns how many.
#define TERN__HUB_POLL_MAX (2 * TERN_RANKS_MAX)
int tern__hub_pollfds(const struct tern__hub *hub, struct pollfd *fds, int capacity);

// Handles what poll(2) reported for one of them (other descriptors are ignored). Never blocks.
void tern__hub_handle(struct tern__hub *hub, const struct pollfd *fd);

// Ends the current gathering if it has begun and its earliest deadline has passed: all that wait
// get TERN_ERR_TIMEOUT with the names of the missing. Goes on welcoming ranks where that had to
// stop, because too many descriptors were in flight. Returns when to call it again (tern__now_ns
// clock) or INT64_MAX.
int64_t tern__hub_expire(struct tern__hub *hub);

// True once every rank has been answered in the current generation; and while only some have been.
bool tern__hub_complete(const struct tern__hub *hub);
bool tern__hub_welcomes(const struct tern__hub *hub);

// The launcher says that rank's process has ended (wait status of waitpid). Ranks that wait in
// tern_init are told; in a running job the rank is marked dead and everybody is woken. Returns true
// when the rank had joined the job and ended without leaving it (tern_comm_destroy).
bool tern__hub_rank_ended(struct tern__hub *hub, int rank, int wait_status);

// The process that has joined as this rank last, 0 for none. (`tern run` may have started a
// debugger, which starts that process.)
int tern__hub_rank_process(const struct tern__hub *hub, int rank);

// What a rank is in, for a sentence about its end: tern__record_open_text. False when there is
// nothing.
bool tern__hub_rank_is_in(const struct tern__hub *hub, int rank, char *text, size_t size);

// "communicator 0 has failed: …": the first one that did; "" when none has. Lives as long as the
// hub.
const char *tern__hub_failure(struct tern__hub *hub);

// What these ranks (bit r: rank r) do now: "rank 1 is stopped (process 417)". "" while no job is
// there.
void tern__hub_doing(const struct tern__hub *hub, uint64_t ranks, char *text, size_t size);

// The control memory of the job, as long as the hub is not told of anything; NULL: there is none.
const struct tern__ctl *tern__hub_ctl(const struct tern__hub *hub);

// The rank that the others blame in the current generation: that died first as this machine's ranks
// saw it, or, where they were only told by another machine that somebody had died, is in what they
// were told. -1: none.
int tern__hub_blamed(const struct tern__hub *hub);

#endif
