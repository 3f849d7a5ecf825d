// SPDX-License-Identifier: Apache-2.0
// Labelled output. A stream is the read end of a rank's pipe with room for one line; a sink is
// where lines go, with room for several. Complete lines move from streams to sinks, as far as there
// is room; streams with no room are not polled, which is how a slow reader holds the ranks back.

#include "boot/launch_label.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "tern/comm.h"

#define PREFIX_BYTES 96
#define SINK_BYTES (2 * TERN__LABEL_LINE_BYTES)

_Static_assert(SINK_BYTES >= TERN__LABEL_LINE_BYTES + PREFIX_BYTES + 1, "a line fits in a sink");
_Static_assert(TERN__LABEL_POLL_MAX >= 2 * TERN_RANKS_MAX + 2, "all streams and both sinks");

struct sink {
    int fd;
    int error;      // errno of the write that failed, or 0
    size_t at_once; // what a write may carry without waiting, once poll says there is room
    size_t begin;
    size_t end;
    char bytes[SINK_BYTES];
};

struct stream {
    int fd; // -1: never opened, or ended
    struct sink *sink;
    bool kept; // nothing moves on for now
    size_t length;
    char bytes[TERN__LABEL_LINE_BYTES + 1]; // the longest line and its newline
};

struct tern__labels {
    int nstreams; // stream 2 * rank: stdout, 2 * rank + 1: stderr
    int turn;     // which stream moves its lines first, so that none is starved
    bool label;
    char host[PREFIX_BYTES - 16]; // "@b", or ""
    int log_error;                // errno of the file that could not be written, or 0
    FILE *logs[TERN_RANKS_MAX];   // NULL: none
    struct sink sinks[2];
    struct stream streams[];
};

static bool same_file(int a, int b)
{
    struct stat of_a;
    struct stat of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

static void set_sink(struct sink *sink, int fd)
{
    struct stat info;
    sink->fd = fd;
    // A pipe that polls writable takes PIPE_BUF bytes at once; a regular file never waits.
    sink->at_once = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) ? SINK_BYTES : PIPE_BUF;
}

static int open_logs(struct tern__labels *labels, const struct tern__labels_plan *plan)
{
    const char *folder = plan->folder;
    char path[PATH_MAX];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return tern__fail_errno(TERN_ERR_ARG, "tern_launch: cannot make the folder '%s'", folder);
    }
    for (int rank = plan->first; rank < plan->first + plan->count; rank++) {
        if (snprintf(path, sizeof path, "%s/rank-%d.log", folder, rank) >= (int)sizeof path) {
            return tern__fail(TERN_ERR_ARG, "tern_launch: the name of the folder for the output is "
                                            "too long");
        }
        labels->logs[rank] = fopen(path, "we");
        if (labels->logs[rank] == NULL) {
            return tern__fail_errno(TERN_ERR_ARG, "tern_launch: cannot write '%s'", path);
        }
    }
    return TERN_OK;
}

int tern__labels_create(const struct tern__labels_plan *plan, struct tern__labels **labels)
{
    int nstreams = 2 * plan->nranks;
    // Zeroed pages that nobody touches cost nothing: a silent rank needs no memory.
    struct tern__labels *made =
        calloc(1, sizeof *made + (size_t)nstreams * sizeof made->streams[0]);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_launch: no memory for the output of %d ranks",
                          plan->nranks);
    }
    made->nstreams = nstreams;
    made->label = plan->label;
    if (plan->host != NULL) {
        snprintf(made->host, sizeof made->host, "@%s", plan->host);
    }
    set_sink(&made->sinks[0], STDOUT_FILENO);
    set_sink(&made->sinks[1], STDERR_FILENO);
    // With 2>&1 both go through one sink, or a long line of one could be cut by the other.
    bool one = same_file(STDOUT_FILENO, STDERR_FILENO);
    for (int i = 0; i < nstreams; i++) {
        made->streams[i].fd = -1;
        made->streams[i].sink = &made->sinks[one ? 0 : i % 2];
    }
    int status = plan->folder != NULL ? open_logs(made, plan) : TERN_OK;
    if (status < 0) {
        tern__labels_destroy(made);
        return status;
    }
    *labels = made;
    return TERN_OK;
}

void tern__labels_destroy(struct tern__labels *labels)
{
    if (labels == NULL) {
        return;
    }
    for (int i = 0; i < labels->nstreams; i++) {
        if (labels->streams[i].fd >= 0) {
            close(labels->streams[i].fd);
        }
    }
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        if (labels->logs[rank] != NULL) {
            fclose(labels->logs[rank]);
        }
    }
    free(labels);
}

int tern__labels_open(struct tern__labels *labels, int rank, int write_fds[2])
{
    for (int i = 0; i < 2; i++) {
        int fds[2];
        if (pipe2(fds, O_CLOEXEC) < 0) {
            tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot make a pipe for rank %d", rank);
            if (i == 1) {
                close(write_fds[0]);
            }
            return TERN_ERR_SYSTEM;
        }
        fcntl(fds[0], F_SETFL, O_NONBLOCK);
        labels->streams[2 * rank + i].fd = fds[0];
        write_fds[i] = fds[1];
    }
    return TERN_OK;
}

int tern__labels_pollfds(const struct tern__labels *labels, struct pollfd *fds, int capacity)
{
    int count = 0;
    for (int i = 0; i < 2 && count < capacity; i++) {
        const struct sink *sink = &labels->sinks[i];
        if (sink->end > sink->begin) {
            fds[count++] = (struct pollfd){.fd = sink->fd, .events = POLLOUT};
        }
    }
    for (int i = 0; i < labels->nstreams && count < capacity; i++) {
        const struct stream *stream = &labels->streams[i];
        if (stream->fd >= 0 && stream->length < sizeof stream->bytes) {
            fds[count++] = (struct pollfd){.fd = stream->fd, .events = POLLIN};
        }
    }
    return count;
}

// How much room there is at the end. Moves what waits to the front only when that gains much.
static size_t sink_room(struct sink *sink)
{
    if (sink->begin >= SINK_BYTES / 2) {
        memmove(sink->bytes, sink->bytes + sink->begin, sink->end - sink->begin);
        sink->end -= sink->begin;
        sink->begin = 0;
    }
    return SINK_BYTES - sink->end;
}

static void sink_append(struct sink *sink, const void *bytes, size_t length)
{
    assert(length <= SINK_BYTES - sink->end);
    memcpy(sink->bytes + sink->end, bytes, length);
    sink->end += length;
}

// How many bytes of the stream at `from` make the next line, without its newline; -1 when it is not
// complete yet. Too much for one line counts as one, and so does the rest before the end.
static ptrdiff_t next_line(const struct stream *stream, size_t from)
{
    size_t left = stream->length - from;
    const char *newline = left > 0 ? memchr(stream->bytes + from, '\n', left) : NULL;
    if (newline != NULL) {
        return newline - (stream->bytes + from);
    }
    if (left > TERN__LABEL_LINE_BYTES) {
        return TERN__LABEL_LINE_BYTES;
    }
    return left > 0 && stream->fd < 0 ? (ptrdiff_t)left : -1;
}

// Moves complete lines of a stream to its sink, as many as fit, and into the rank's file.
static void move_lines(struct tern__labels *labels, struct stream *stream, int rank)
{
    struct sink *sink = stream->sink;
    FILE *log = labels->logs[rank];
    if (sink->error != 0) {
        stream->length = 0;
        return;
    }
    char prefix[PREFIX_BYTES] = "";
    size_t prefix_length =
        labels->label ? (size_t)snprintf(prefix, sizeof prefix, "[%d%s] ", rank, labels->host) : 0;
    size_t room = stream->length > 0 ? sink_room(sink) : 0;
    size_t from = 0;
    ptrdiff_t length;
    while ((length = next_line(stream, from)) >= 0) {
        size_t needed = prefix_length + (size_t)length + 1;
        if (needed > room) {
            break;
        }
        size_t next = from + (size_t)length;
        // A line that was cut has no newline.
        bool newline = next < stream->length && stream->bytes[next] == '\n';
        sink_append(sink, prefix, prefix_length);
        sink_append(sink, stream->bytes + from, (size_t)length);
        sink_append(sink, "\n", labels->label || newline);
        if (log != NULL) {
            fwrite(stream->bytes + from, 1, (size_t)length + newline, log);
        }
        room -= needed;
        from = next + newline;
    }
    if (log != NULL && from > 0 && (fflush(log) != 0 || ferror(log)) && labels->log_error == 0) {
        labels->log_error = errno;
    }
    memmove(stream->bytes, stream->bytes + from, stream->length - from);
    stream->length -= from;
}

static void move_all_lines(struct tern__labels *labels)
{
    for (int i = 0; i < labels->nstreams; i++) {
        int turn = (labels->turn + i) % labels->nstreams;
        if (labels->streams[turn].kept) {
            continue;
        }
        move_lines(labels, &labels->streams[turn], turn / 2);
    }
    labels->turn = (labels->turn + 1) % labels->nstreams;
}

// One read. Returns false when there was nothing to read or no room.
static bool read_stream(struct stream *stream)
{
    size_t room = sizeof stream->bytes - stream->length;
    if (stream->fd < 0 || room == 0) {
        return false;
    }
    ssize_t got = read(stream->fd, stream->bytes + stream->length, room);
    if (got > 0) {
        stream->length += (size_t)got;
        return true;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close(stream->fd);
        stream->fd = -1;
    }
    return false;
}

static void write_sink(struct sink *sink)
{
    size_t length = sink->end - sink->begin;
    if (length > sink->at_once) {
        length = sink->at_once;
    }
    ssize_t written = write(sink->fd, sink->bytes + sink->begin, length);
    if (written >= 0) {
        sink->begin += (size_t)written;
        if (sink->begin == sink->end) {
            sink->begin = 0;
            sink->end = 0;
        }
    } else if (errno != EAGAIN && errno != EINTR) {
        sink->error = errno;
        sink->begin = 0;
        sink->end = 0;
    }
}

void tern__labels_handle(struct tern__labels *labels, const struct pollfd *fds, int count)
{
    for (int i = 0; i < count; i++) {
        if (fds[i].revents == 0) {
            continue;
        }
        for (int j = 0; j < 2; j++) {
            struct sink *sink = &labels->sinks[j];
            if (fds[i].fd == sink->fd && sink->end > sink->begin) {
                write_sink(sink);
            }
        }
        for (int j = 0; j < labels->nstreams; j++) {
            if (fds[i].fd == labels->streams[j].fd) {
                read_stream(&labels->streams[j]);
                break;
            }
        }
    }
    move_all_lines(labels);
}

void tern__labels_keep(struct tern__labels *labels, int rank, bool keep)
{
    labels->streams[2 * rank + 1].kept = keep;
}

void tern__labels_last(struct tern__labels *labels, int rank, char *text, size_t size)
{
    struct stream *stream = &labels->streams[2 * rank + 1];
    while (read_stream(stream)) {
    }
    while (stream->length > 0 && strchr("\r\n", stream->bytes[stream->length - 1]) != NULL) {
        stream->length--;
    }
    size_t begin = stream->length;
    while (begin > 0 && stream->bytes[begin - 1] != '\n') {
        begin--;
    }
    snprintf(text, size, "%.*s", (int)(stream->length - begin), stream->bytes + begin);
    stream->length = begin;
}

bool tern__labels_finish(struct tern__labels *labels)
{
    bool done = true;
    for (int i = 0; i < labels->nstreams; i++) {
        struct stream *stream = &labels->streams[i];
        while (read_stream(stream)) {
        }
        // No room left means that there may be more; otherwise the pipe is empty for good, even if
        // somebody outside the job holds it open.
        if (stream->fd >= 0 && stream->length < sizeof stream->bytes) {
            close(stream->fd);
            stream->fd = -1;
        }
    }
    move_all_lines(labels);
    for (int i = 0; i < labels->nstreams; i++) {
        done = done && labels->streams[i].fd < 0 && labels->streams[i].length == 0;
    }
    for (int i = 0; i < 2; i++) {
        done = done && labels->sinks[i].end == labels->sinks[i].begin;
    }
    return done;
}

int tern__labels_error(const struct tern__labels *labels)
{
    int error = labels->sinks[0].error != 0 ? labels->sinks[0].error : labels->sinks[1].error;
    return error != 0 ? error : labels->log_error;
}
