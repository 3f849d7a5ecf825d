// SPDX-License-Identifier: Apache-2.0
// An exchange through the first process management interface, PMI-1, as hydra (MPICH's mpiexec) and
// others offer it: lines of words on a descriptor that PMI_FD names. Needs no MPI. The connection
// stays open: a program that also uses MPI starts its own talk on it later. It is finished when the
// process ends, since a launcher ends the others when it finds one that has begun and not finished.

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/exchange.h"

#define LINE_BYTES 2048
#define NAME_BYTES 512
#define FINISH_MS 1000

struct talk {
    int fd;
    int64_t deadline_ns;
    char line[LINE_BYTES]; // the last answer
};

static int own_fd = -1; // begun by this process
static pid_t own_pid;

static void finish(void)
{
    static const char line[] = "cmd=finalize\n";
    char answer[LINE_BYTES];
    struct pollfd wait = {.fd = own_fd, .events = POLLIN};
    if (own_pid == getpid() && // and no fork of it
        send(own_fd, line, sizeof line - 1, MSG_NOSIGNAL) == (ssize_t)sizeof line - 1 &&
        poll(&wait, 1, FINISH_MS) == 1) {
        (void)!read(own_fd, answer, sizeof answer);
    }
}

static void finish_at_exit(int fd)
{
    if (own_fd < 0) {
        own_fd = fd;
        own_pid = getpid();
        atexit(finish);
    }
}

static int put_line(const struct talk *talk, const char *line)
{
    for (size_t sent = 0, size = strlen(line); sent < size;) {
        ssize_t now = write(talk->fd, line + sent, size - sent);
        if (now < 0 && errno != EINTR) {
            return tern__fail_errno(TERN_ERR_PEER, "the launcher's PMI does not listen any more");
        }
        sent += now > 0 ? (size_t)now : 0;
    }
    return TERN_OK;
}

// Byte by byte: what is behind the line belongs to whoever asks next.
static int get_line(struct talk *talk)
{
    size_t used = 0;
    for (;;) {
        struct pollfd wait = {.fd = talk->fd, .events = POLLIN};
        int64_t left_ns = talk->deadline_ns - tern__now_ns();
        if (left_ns <= 0) {
            return tern__fail(TERN_ERR_TIMEOUT,
                              "the launcher's PMI did not answer in time: not all "
                              "processes may have called tern_init");
        }
        if (poll(&wait, 1, tern__deadline_ms(talk->deadline_ns, 1000)) <= 0) {
            continue;
        }
        ssize_t now = read(talk->fd, talk->line + used, 1);
        if (now < 0 && errno == EINTR) {
            continue;
        }
        if (now <= 0 || used + 1 == sizeof talk->line) {
            return tern__fail(TERN_ERR_PEER, now <= 0 ? "the launcher's PMI has gone away"
                                                      : "the launcher's PMI sent too long a line");
        }
        if (talk->line[used] == '\n') {
            talk->line[used] = '\0';
            return TERN_OK;
        }
        used++;
    }
}

// The value of a key=value word of the answer; false when it has none. Up to the next blank.
static bool find_word(const struct talk *talk, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = talk->line; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strncmp(at, key, length) == 0 && at[length] == '=') {
            snprintf(value, size, "%.*s", (int)strcspn(at + length + 1, " "), at + length + 1);
            return true;
        }
    }
    return false;
}

// Asks, and looks whether the answer is the one, with rc=0 where it has one.
static int ask(struct talk *talk, const char *line, const char *answer)
{
    char command[64] = "";
    char code[16] = "0";
    TERN_TRY(put_line(talk, line));
    TERN_TRY(get_line(talk));
    find_word(talk, "cmd", command, sizeof command);
    find_word(talk, "rc", code, sizeof code);
    if (strcmp(command, answer) != 0 || strcmp(code, "0") != 0) {
        return tern__fail(TERN_ERR_REFUSED,
                          "the launcher's PMI answered '%.200s' to '%.*s'; expected cmd=%s",
                          talk->line, (int)strcspn(line, "\n"), line, answer);
    }
    return TERN_OK;
}

static void write_hex(const unsigned char *from, size_t bytes, char *to)
{
    for (size_t i = 0; i < bytes; i++) {
        snprintf(to + 2 * i, 3, "%02x", from[i]);
    }
}

static bool read_hex(const char *from, unsigned char *to, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char digits[3] = {from[2 * i], from[2 * i] != '\0' ? from[2 * i + 1] : '\0', '\0'};
        char *end;
        to[i] = (unsigned char)strtoul(digits, &end, 16);
        if (end != digits + 2) {
            return false;
        }
    }
    return from[2 * bytes] == '\0';
}

static int fetch(struct talk *talk, const char *space, uint32_t number, int rank, void *to,
                 size_t bytes)
{
    char line[LINE_BYTES];
    char value[LINE_BYTES] = "";
    snprintf(line, sizeof line, "cmd=get kvsname=%s key=tern-%u-%d\n", space, number, rank);
    TERN_TRY(ask(talk, line, "get_result"));
    if (!find_word(talk, "value", value, sizeof value) || !read_hex(value, to, bytes)) {
        return tern__fail(TERN_ERR_REFUSED, "rank %d runs another version of tern", rank);
    }
    return TERN_OK;
}

static int gather(struct tern__exchange *exchange, const void *mine, size_t bytes, void *all,
                  int64_t deadline_ns)
{
    struct talk talk = {.fd = (int)(intptr_t)exchange->state, .deadline_ns = deadline_ns};
    char space[NAME_BYTES] = "";
    char line[LINE_BYTES];
    char hex[1024 + 1];
    if (2 * bytes >= sizeof hex) {
        return tern__fail(TERN_ERR_LIMIT, "%zu bytes are more than PMI passes on", bytes);
    }
    TERN_TRY(ask(&talk, "cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init"));
    finish_at_exit(talk.fd);
    TERN_TRY(ask(&talk, "cmd=get_my_kvsname\n", "my_kvsname"));
    if (!find_word(&talk, "kvsname", space, sizeof space)) {
        return tern__fail(TERN_ERR_REFUSED, "the launcher's PMI has no name for its values");
    }
    write_hex(mine, bytes, hex);
    snprintf(line, sizeof line, "cmd=put kvsname=%s key=tern-%u-%d value=%s\n", space,
             exchange->number, exchange->rank, hex);
    TERN_TRY(ask(&talk, line, "put_result"));
    TERN_TRY(ask(&talk, "cmd=barrier_in\n", "barrier_out"));
    for (int rank = 0; rank < exchange->nranks; rank++) {
        TERN_TRY(
            fetch(&talk, space, exchange->number, rank, (char *)all + (size_t)rank * bytes, bytes));
    }
    return TERN_OK;
}

static void end(struct tern__exchange *exchange)
{
    (void)exchange;
}

int tern__exchange_pmi(struct tern__exchange *exchange)
{
    const char *descriptor = getenv("PMI_FD");
    long fd;
    long rank;
    long nranks;
    if (descriptor == NULL) {
        return 0;
    }
    if (tern__parse_integer(descriptor, 0, INT32_MAX, &fd) != 0 ||
        tern__parse_integer(getenv("PMI_SIZE"), 1, INT32_MAX, &nranks) != 0 ||
        tern__parse_integer(getenv("PMI_RANK"), 0, nranks - 1, &rank) != 0) {
        return tern__fail(TERN_ERR_ARG,
                          "PMI_FD, PMI_RANK and PMI_SIZE do not describe a place in a job; "
                          "mpiexec sets all of them (unset them for a job of one rank)");
    }
    if (nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_LIMIT, "mpiexec has started %ld processes; a job has up to %d",
                          nranks, TERN_RANKS_MAX);
    }
    *exchange = (struct tern__exchange){.name = "started by mpiexec (PMI-1)",
                                        .rank = (int)rank,
                                        .nranks = (int)nranks,
                                        .state = (void *)(intptr_t)fd,
                                        .gather = gather,
                                        .end = end};
    return 1;
}
