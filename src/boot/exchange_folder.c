// SPDX-License-Identifier: Apache-2.0
// An exchange through files in a folder that all processes see: for machines that share a file
// system and have no launcher, and for tests. A rank's file gets its name when it is whole. When
// all have read all, rank 0 removes them.

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "boot/exchange.h"

#define LOOK_MS 2

static void name_file(const struct tern__exchange *exchange, const char *what, int rank,
                      char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3900s/%s.%d", (const char *)exchange->state, what, rank);
}

static int write_file(const struct tern__exchange *exchange, const char *what, const void *from,
                      size_t bytes)
{
    char path[PATH_MAX];
    char part[PATH_MAX];
    name_file(exchange, what, exchange->rank, path);
    name_file(exchange, "part", exchange->rank, part);
    int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool whole = fd >= 0 && write(fd, from, bytes) == (ssize_t)bytes;
    if (fd >= 0) {
        whole = close(fd) == 0 && whole;
    }
    if (!whole || rename(part, path) != 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot write '%s'", path);
    }
    return TERN_OK;
}

// Waits for a rank's file, and reads it.
static int read_file(const struct tern__exchange *exchange, const char *what, int rank, void *to,
                     size_t bytes, int64_t deadline_ns)
{
    char path[PATH_MAX];
    name_file(exchange, what, rank, path);
    for (;;) {
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            ssize_t got = read(fd, to, bytes);
            close(fd);
            return got == (ssize_t)bytes
                       ? TERN_OK
                       : tern__fail(TERN_ERR_REFUSED,
                                    "'%s' has %lld bytes; a rank of this version of tern writes "
                                    "%zu",
                                    path, (long long)got, bytes);
        }
        if (errno != ENOENT) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "cannot read '%s'", path);
        }
        if (tern__now_ns() >= deadline_ns) {
            return tern__fail(TERN_ERR_TIMEOUT, "rank %d did not write '%s' in time", rank, path);
        }
        poll(NULL, 0, LOOK_MS);
    }
}

static void remove_all(const struct tern__exchange *exchange)
{
    char path[PATH_MAX];
    for (int rank = 0; rank < exchange->nranks; rank++) {
        name_file(exchange, "card", rank, path);
        unlink(path);
        name_file(exchange, "seen", rank, path);
        unlink(path);
    }
    rmdir(exchange->state);
}

static int gather_files(const struct tern__exchange *exchange, const void *mine, size_t bytes,
                        void *all, int64_t deadline_ns)
{
    char seen = 1;
    if (mkdir(exchange->state, 0700) != 0 && errno != EEXIST) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "cannot make the folder '%s' of TERN_EXCHANGE",
                                (const char *)exchange->state);
    }
    TERN_TRY(write_file(exchange, "card", mine, bytes));
    for (int rank = 0; rank < exchange->nranks; rank++) {
        TERN_TRY(read_file(exchange, "card", rank, (char *)all + (size_t)rank * bytes, bytes,
                           deadline_ns));
    }
    TERN_TRY(write_file(exchange, "seen", &seen, 1));
    for (int rank = 0; exchange->rank == 0 && rank < exchange->nranks; rank++) {
        TERN_TRY(read_file(exchange, "seen", rank, &seen, 1, deadline_ns));
    }
    if (exchange->rank == 0) {
        remove_all(exchange);
    }
    return TERN_OK;
}

// Who gives up takes its files along: a later job in this folder would take them for its own.
static int gather(struct tern__exchange *exchange, const void *mine, size_t bytes, void *all,
                  int64_t deadline_ns)
{
    char path[PATH_MAX];
    int status = gather_files(exchange, mine, bytes, all, deadline_ns);
    for (int i = 0; status != TERN_OK && i < 2; i++) {
        name_file(exchange, i == 0 ? "card" : "seen", exchange->rank, path);
        unlink(path);
    }
    return status;
}

static void end(struct tern__exchange *exchange)
{
    free(exchange->state);
    exchange->state = NULL;
}

int tern__exchange_folder(struct tern__exchange *exchange)
{
    const char *option = getenv("TERN_EXCHANGE");
    if (option == NULL || option[0] == '\0') {
        return 0;
    }
    char words[2][16] = {"", ""};
    const char *at = option;
    for (int i = 0; i < 2 && at != NULL; i++) {
        const char *colon = strchr(at, ':');
        snprintf(words[i], sizeof words[i], "%.*s", colon != NULL ? (int)(colon - at) : 0, at);
        at = colon != NULL ? colon + 1 : NULL;
    }
    long rank;
    long nranks;
    if (at == NULL || at[0] != '/' ||
        tern__parse_integer(words[1], 1, TERN_RANKS_MAX, &nranks) != 0 ||
        tern__parse_integer(words[0], 0, nranks - 1, &rank) != 0) {
        return tern__fail(
            TERN_ERR_ARG,
            "TERN_EXCHANGE is '%.200s'; it is RANK:NRANKS:FOLDER, as in 0:4:/srv/job7", option);
    }
    char *folder = strdup(at);
    if (folder == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the name of a folder");
    }
    *exchange = (struct tern__exchange){.name = "TERN_EXCHANGE",
                                        .rank = (int)rank,
                                        .nranks = (int)nranks,
                                        .state = folder,
                                        .gather = gather,
                                        .end = end};
    return 1;
}
