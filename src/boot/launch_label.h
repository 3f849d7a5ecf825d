// SPDX-License-Identifier: Apache-2.0
// The output of the ranks, line by line: with the rank in front ("[3] text", or "[3@b] text" where
// they are on several machines), or as it is; and also into a file for each rank. At the head of a
// job on several machines it is the output of the hosts, as it is.
//
// Lines are never mixed. A line longer than TERN__LABEL_LINE_BYTES moves in pieces of that length,
// so memory is bounded. With labels each piece becomes a line, and a last line without newline gets
// one. Nothing here waits for a reader: when nobody takes the output, the ranks' pipes fill up and
// the ranks wait.
#ifndef TERN_BOOT_LAUNCH_LABEL_H
#define TERN_BOOT_LAUNCH_LABEL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define TERN__LABEL_LINE_BYTES (64 * 1024)

struct tern__labels;

struct tern__labels_plan {
    int nranks;       // of the job, or hosts
    int first, count; // those that write here
    bool label;       // whether the rank is put in front
    const char *host; // and this behind it; NULL: nothing
    const char
        *folder; // where each gets a file, rank-3.log, for both of its outputs; made if it is
                 // not there; NULL: no files
};
int tern__labels_create(const struct tern__labels_plan *plan, struct tern__labels **labels);
void tern__labels_destroy(struct tern__labels *labels);

// Makes the two pipes of a rank; their write ends (close-on-exec) belong to the caller.
int tern__labels_open(struct tern__labels *labels, int rank, int write_fds[2]);

// The descriptors to poll for, at most `capacity` (TERN__LABEL_POLL_MAX is enough); how many.
#define TERN__LABEL_POLL_MAX (2 * 64 + 2)
int tern__labels_pollfds(const struct tern__labels *labels, struct pollfd *fds, int capacity);

// Handles what poll(2) reported for them (others are ignored).
void tern__labels_handle(struct tern__labels *labels, const struct pollfd *fds, int count);

// All that could write have ended: takes what is left in the pipes. True when all is written.
bool tern__labels_finish(struct tern__labels *labels);

// Keeps what a rank writes to standard error, and hands it on when it is no longer kept. The last
// line of that, without its newline, is taken out by tern__labels_last; "" when there is none.
void tern__labels_keep(struct tern__labels *labels, int rank, bool keep);
void tern__labels_last(struct tern__labels *labels, int rank, char *text, size_t size);

// 0, or the errno with which writing failed; then the rest is read and dropped.
int tern__labels_error(const struct tern__labels *labels);

#endif
