// SPDX-License-Identifier: Apache-2.0
// Ranks on several machines of one box.

#include "machines.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const machines_layouts[8] = {"aabb", "ab",   "abb",    "aab",
                                         "abc",  "abab", "aaabbb", "abcabca"};

int machines_join(int rank, const struct ranks *ranks, const char *layout, tern_comm **comm)
{
    ranks_place(ranks, rank, layout[rank]);
    return tern_init(NULL, comm);
}

static void empty(int at)
{
    DIR *folder = fdopendir(at);
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            unlinkat(dirfd(folder), entry->d_name, 0);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

void machines_clean(const struct ranks *ranks)
{
    char path[128];
    snprintf(path, sizeof path, "%s/exchange", ranks->folder);
    int at = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (at >= 0) {
        empty(at);
        rmdir(path);
    }
    empty(open(ranks->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

struct with_comm {
    const char *layout;
    comm_body body;
    void *arg;
};

static int run_with_comm(int rank, const struct ranks *ranks, void *arg)
{
    const struct with_comm *with = arg;
    tern_comm *comm;
    CHECK(machines_join(rank, ranks, with->layout, &comm) == TERN_OK);
    int result = with->body(comm, with->arg);
    int destroyed = tern_comm_destroy(comm);
    CHECK(result != 0 || destroyed == TERN_OK);
    return result;
}

bool machines_run_comm(const char *layout, comm_body body, void *arg, double deadline_s)
{
    struct with_comm with = {.layout = layout, .body = body, .arg = arg};
    return ranks_run((int)strlen(layout), run_with_comm, &with, deadline_s);
}

bool machines_run_all(comm_body body, void *arg, double deadline_s)
{
    for (size_t i = 0; i < sizeof machines_layouts / sizeof machines_layouts[0]; i++) {
        if (!machines_run_comm(machines_layouts[i], body, arg, deadline_s)) {
            fprintf(stderr, "on machines %s\n", machines_layouts[i]);
            return false;
        }
    }
    return true;
}
