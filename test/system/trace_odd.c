// SPDX-License-Identifier: Apache-2.0
// Five calls of all ranks, and then an end as the argument says.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tern/tern.h"

int main(int argc, char **argv)
{
    tern_comm *comm;
    float in[100] = {0}, out[100];
    if (tern_init(NULL, &comm) != TERN_OK || argc != 2) {
        return 9;
    }
    int own = tern_comm_rank(comm) == 1;
    int records = strcmp(argv[1], "own") == 0;
    if (records && tern_trace_begin(0) != TERN_OK) {
        return 4;
    }
    for (int i = 0; i < 5; i++) {
        if (tern_all_reduce(comm, in, out, 100, TERN_F32, TERN_SUM) != TERN_OK) {
            return 3;
        }
    }
    if (records && tern_trace_end(comm, "own.json") != TERN_OK) {
        return 4;
    }
    if (own && strcmp(argv[1], "kill") == 0) {
        raise(SIGKILL);
    } else if (own && strcmp(argv[1], "exit") == 0) {
        exit(0); // without tern_comm_destroy
    } else if (strcmp(argv[1], "stay") == 0) {
        printf("rank %d stays\n", tern_comm_rank(comm));
        fflush(stdout);
        pause();
    } else if (strcmp(argv[1], "begin") == 0 && tern_trace_begin(0) != TERN_ERR_STATE) {
        return 4;
    } else if (strcmp(argv[1], "much") == 0 || strcmp(argv[1], "some") == 0) {
        int count = argv[1][0] == 'm' ? 140000 : 10000;
        tern_window *window;
        int made = tern_window_create(comm, 64, NULL, &window);
        for (int i = 0; made == TERN_OK && i < count; i++) {
            made = tern_signal_notify(window, tern_comm_rank(comm), 0, 1, TERN_NOTIFY_ADD);
        }
        if (made != TERN_OK || tern_window_destroy(window) != TERN_OK) {
            return 3;
        }
    } else if (strcmp(argv[1], "again") == 0) {
        if (tern_comm_destroy(comm) != TERN_OK) {
            return 3;
        }
        pid_t child = fork();
        if (child == 0) {
            execl("/bin/true", "true", (char *)NULL);
        }
        waitpid(child, NULL, 0);
        return 0;
    }
    if (tern_all_reduce(comm, in, out, 100, TERN_F32, TERN_SUM) != TERN_OK) {
        return 3;
    }
    return tern_comm_destroy(comm) == TERN_OK ? 0 : 3;
}
