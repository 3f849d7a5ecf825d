// SPDX-License-Identifier: Apache-2.0
// The head of a job on several machines: starts a branch (boot/branch.h) on each host through an
// agent, ends gatherings when all ranks of all machines have come, tells every machine of every
// rank's end, and decides when the job is over. It has no ranks of its own. Set-up path.
#ifndef TERN_BOOT_HEAD_H
#define TERN_BOOT_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "boot/hosts.h"
#include "boot/launch_job.h"
#include "boot/link.h"
#include "boot/words.h"

#define TERN__STRANGERS_MAX 16
#define TERN__STDIN_BYTES 65536

// A machine as the head sees it.
struct tern__entry {
    pid_t agent; // 0: not started, or reaped
    int agent_status;
    int64_t agent_ended_ns; // 0: it has not
    int input;              // the standard input of the agent; -1: closed
    char *bytes;            // the assignment, to be written there
    size_t size, written;
    bool joined;    // its branch has connected
    bool over;      // its branch has ended well
    bool dismissed; // nothing is expected from it any more
    bool missed;    // its agent has ended before it was over, which was said
    struct tern__link link;
    struct tern__word_join join;
    struct tern__hub_present present; // of the gathering that goes on
    int64_t gather_until_ns;          // its ranks' first deadline; INT64_MAX: none
};

struct tern__job_head {
    const tern_launch_options *options;
    struct tern__hosts hosts;
    struct tern__launch job; // causes, points in time, and how ranks ended
    struct tern__entry entries[TERN_RANKS_MAX];
    struct tern__labels *labels;                      // of the hosts' output
    struct tern__link strangers[TERN__STRANGERS_MAX]; // have connected and said nothing yet
    int listener;
    uint32_t port;
    uint8_t token[16];
    int64_t silence_ns;
    int64_t start_until_ns; // by when all branches must have connected; INT64_MAX: they have
    int64_t start_ns;       // how long that was
    int64_t finish_ns;      // when what is left of the agents is killed; INT64_MAX: not yet
    int32_t generation;     // how many gatherings have ended
    int64_t failed_ns;      // when the cause of the end was seen
    int lost;               // the host whose loss ended the job, or -1
    uint64_t gone;          // bit r: rank r has ended, or is gone with its machine
    bool reads;             // standard input has not ended
    size_t stdin_size, stdin_done;
    char stdin_bytes[TERN__STDIN_BYTES];
    char mark[64];                  // TERN_AGENT=..., in the environment of agents
    struct tern__procs procs;       // the children that this process had before
    struct tern__head_trace *trace; // NULL: not asked for
};

// tern_launch for several hosts.
int tern__head_launch(const tern_launch_options *options, int *exit_status);

// head_agents.c: starts all of them; looks which have ended; writes assignments and standard input
// (readable: there is some) as far as they are taken; ends what is left.
int tern__head_start(struct tern__job_head *head);
void tern__head_reap(struct tern__job_head *head);
void tern__head_feed(struct tern__job_head *head, bool readable);
void tern__head_kill(struct tern__job_head *head, int entry);
void tern__head_cleanup(struct tern__job_head *head);

// "its agent was killed by signal 9 (Killed)"; and what follows for the exit status when that has
// ended the job.
struct tern__head_agent {
    char text[80];
};
struct tern__head_agent tern__head_agent(const struct tern__entry *entry);
int tern__head_agent_exit(const struct tern__entry *entry);

// "host b (ranks 2-3)".
struct tern__head_host {
    char text[TERN__MACHINE_NAME_BYTES + 48];
};
struct tern__head_host tern__head_host(const struct tern__job_head *head, int entry);

// Hears what the branches say and does what follows; looks at deadlines, and returns
// the next point in time.
int tern__head_room(
    const struct tern__job_head *head); // for one more connection; -1: there is none
void tern__head_accept(struct tern__job_head *head);
int64_t tern__head_turn(struct tern__job_head *head);

// head_say.c: to all branches, and to one, as far as they have joined.
void tern__head_say(struct tern__job_head *head, struct tern__link_word word, const void *payload,
                    size_t bytes);
void tern__head_say_to(struct tern__entry *entry, struct tern__link_word word, const void *payload,
                       size_t bytes);

// head_trace.c: of a job that is traced. Looks whether the file could be written; takes what a
// branch says about it; writes the file and says which clocks were how far apart, and what lacks:
// returns the exit status that this alone would make, 0 or 1.
int tern__head_trace_create(struct tern__job_head *head);
void tern__head_trace_hear(struct tern__job_head *head, int entry,
                           const struct tern__link_word *word, const void *payload);
int tern__head_trace_save(struct tern__job_head *head);
void tern__head_trace_destroy(struct tern__job_head *head);

// Why the job has failed, for ranks.
#define TERN__WIRE_SENTENCE_BYTES 480
void tern__head_why(const struct tern__job_head *head, char *text, size_t size);

// The job has failed: the first cause stays. term, kill: milliseconds until the signals.
void tern__head_end(struct tern__job_head *head, enum tern__cause cause, int term_ms, int kill_ms);
void tern__head_fail(struct tern__job_head *head, int exit_status, const char *format, ...)
    TERN_PRINTF(3, 4);

// A machine says who is there, or a rank has ended: ends the gathering when that is
// due. Returns the next deadline.
void tern__head_gather(struct tern__job_head *head);
int64_t tern__head_gather_expire(struct tern__job_head *head);
void tern__head_give_up(struct tern__job_head *head, int status, const char *text);

#endif
