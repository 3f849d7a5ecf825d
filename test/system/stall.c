// SPDX-License-Identifier: Apache-2.0
// A rank for test/system/stall.sh. All receive first from the rank before them, so all wait.
// `works`: rank 1 does so in a second thread, and works; `elsewhere`: rank 0 does something else;
// `meet`: they have met without the launcher.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tern/coll.h"
#include "tern/comm.h"

static void *receive(void *arg)
{
    tern_comm *world = arg;
    int size = tern_comm_size(world);
    int number = 0;
    int status = tern_recv(world, &number, 1, TERN_I32, (tern_comm_rank(world) + size - 1) % size);
    if (status < 0) {
        printf("%s\n", tern_last_error());
    }
    return NULL;
}

int main(int argc, char **argv)
{
    tern_comm *world;
    pthread_t thread;
    const char *how = argc > 1 ? argv[1] : "";
    bool meet = strcmp(how, "meet") == 0;
    int status = meet ? tern_init_at(atoi(getenv("TERN_RANK")), atoi(getenv("TERN_NRANKS")),
                                     "./meeting", NULL, &world)
                      : tern_init(NULL, &world);
    if (status != TERN_OK || tern_barrier(world) != TERN_OK) {
        printf("%s\n", tern_last_error());
        return 1;
    }
    if (strcmp(how, "works") == 0 && tern_comm_rank(world) == 1) {
        if (pthread_create(&thread, NULL, receive, world) != 0) {
            return 2;
        }
        while (pthread_tryjoin_np(thread, NULL) != 0) {
        }
        return 1;
    }
    if (strcmp(how, "elsewhere") == 0 && tern_comm_rank(world) == 0) {
        sleep(100);
    }
    receive(world);
    return 1;
}
