// SPDX-License-Identifier: Apache-2.0
// A launch while it runs, and what is said about its end: launch.c and launch_reap.c fill it in,
// launch_report.c reads it. Set-up path.
#ifndef TERN_BOOT_LAUNCH_JOB_H
#define TERN_BOOT_LAUNCH_JOB_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "boot/launch_procs.h"
#include "boot/launch_signals.h"
#include "sync/job_find.h"
#include "tern/launch.h"

#define TERN__TERM_AFTER_NS (600 * INT64_C(1000000))
#define TERN__KILL_AFTER_NS (800 * INT64_C(1000000))

struct tern__branch;
struct tern__hosts;
struct tern__hub;
struct tern__labels;
struct tern__traces;

enum tern__cause {
    CAUSE_NONE,
    CAUSE_RANK,   // a rank failed
    CAUSE_SIGNAL, // we were told to end
    CAUSE_TIMEOUT,
    CAUSE_EXEC,     // the program cannot be executed
    CAUSE_OUTPUT,   // our own output cannot be written
    CAUSE_GUARDIAN, // somebody has killed the guardian
    CAUSE_HOST,     // of several machines, one has gone or cannot go on: host_text
    CAUSE_HEAD,     // the head of a job on several machines has ended it, or is gone
};

// A process of a rank, as the look whether all ranks wait has seen it.
struct tern__staller {
    int pid;
    uint64_t place;    // on which machine; 0: on this one
    uint64_t seen;     // at which look
    int64_t worked_ns; // until then
    int64_t before_ns; // until all waited
    bool waits, worked;
};

// Of that look (launch_stall.c).
struct tern__stall {
    int64_t after_ns;   // how long they must; INT64_MAX: nothing is said
    int64_t look_at_ns; // when to look next
    int64_t since_ns;   // since when they do
    uint64_t mark;      // of what they wait for; 0: one does not wait
    uint64_t looks;
    bool told;
    int next;               // the rank whose files are looked at next
    struct tern__jobs jobs; // that ranks are in, if not in that of the launcher
    struct tern__staller processes[TERN_RANKS_MAX];
};

struct tern__launch {
    const tern_launch_options *options;
    struct tern__signals signals;
    struct tern__hub *hub;
    struct tern__labels *labels;     // NULL: not asked for
    struct tern__traces *traces;     // NULL: not asked for
    struct tern__branch *branch;     // NULL: all ranks of the job are started here
    const struct tern__hosts *hosts; // of the job, at its head; NULL: this machine alone
    struct tern__procs procs;
    char path[PATH_MAX];

    enum tern__cause cause;
    int error;       // CAUSE_EXEC and CAUSE_OUTPUT: the errno
    int host_status; // CAUSE_HOST: the exit status
    char host_text[640];
    int signal;            // the first that told us to end, or 0
    int64_t signal_at_ns;  // when the last such signal came
    int64_t timeout_at_ns; // the points in time, INT64_MAX: none
    int64_t term_at_ns;
    int64_t kill_at_ns;
    int64_t linger_until_ns; // 0: ranks still run
    int64_t linger_end_ns;   // it is not put off beyond this
    int64_t look_at_ns;      // when to look next what the others do; 0: not set

    enum { UNSEEN, SEEN, TOLD } lag; // of the ranks that run on after a communicator has failed

    struct tern__stall stall;
    bool timed_out;
    int culprit;       // the rank that failed first, or -1
    int suspect;       // whom the ranks blamed then, though it had not been reaped; -1
    char failure[640]; // of a communicator; "" for none
    uint64_t sent;     // bit s: we have sent signal s to end the job
    bool output_cut;   // not all output was written
    char in_call[TERN_RANKS_MAX][96]; // what a rank was in when a signal killed it; "" for none
    bool fell[TERN_RANKS_MAX];        // failed on its own
    bool deserted[TERN_RANKS_MAX];    // ended without tern_comm_destroy
};

// A launch with nothing in it yet, and one from its start to its end. That of one machine of
// several reports nothing.
struct tern__launch tern__launch_new(const tern_launch_options *options);
int tern__launch_run(struct tern__launch *job, int *exit_status);

// Descriptors 0 to 2 that are closed would be reused for a socket, and then printed into. Returns
// how many it has opened, in order.
int tern__launch_open_standard(int opened[3]);

// The first cause stays the cause; the points in time for SIGTERM and SIGKILL only come closer.
void tern__launch_end(struct tern__launch *job, enum tern__cause cause, int64_t term_after_ns,
                      int64_t kill_after_ns);

// Does what a signal means.
void tern__launch_obey(struct tern__launch *job, int number, bool from_terminal);

// Does what is due. Returns the next point in time.
int64_t tern__launch_look_at_clock(struct tern__launch *job);

// Takes note of the ranks that have ended. True when the first of those that failed on their own is
// among them: the culprit.
bool tern__launch_reap(struct tern__launch *job);

// Says in one line on standard error why the job ended, if it did not end well. Returns the exit
// status of the launch.
int tern__launch_report(const struct tern__launch *job);

// Says, once, for whom the job waits after a communicator has failed and a rank has ended. Returns
// when to look again.
int64_t tern__launch_look_at_lag(struct tern__launch *job, int64_t now_ns);

// Says, once for each time, that all ranks wait and none goes on. Returns when to look again.
int64_t tern__launch_look_at_stall(struct tern__launch *job, int64_t now_ns);
void tern__launch_end_stall(struct tern__launch *job);

// Why the launcher itself ended the job, when it did, and the exit status that follows; -1 when a
// rank, a signal or nothing did.
int tern__launch_cause(const struct tern__launch *job, char *text, size_t size);

// As tern__launch_report for a program that tern__program_find did not find.
int tern__launch_report_program(const char *name, int error);

// The name that begins the lines; NULL: "tern run".
void tern__launch_speak_as(const char *name);

// One line on standard error, after the name; dropped rather than waiting for somebody who does not
// read.
void tern__launch_say(const char *format, ...) TERN_PRINTF(1, 2);

#endif
