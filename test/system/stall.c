// SPDX-License-Identifier: Apache-2.0
// A rank for test/system/stall.sh. All receive first from the rank before them, so all wait.
// `works`: rank 1 does so in a second thread, and works; `little`: it works little; `elsewhere`:
// rank 0 does something else; `meet PATH`, `meet-elsewhere PATH`: they have met there, without the
// launcher; `ticks`: all wait for the same signal again and again, which a thread of rank 0
// notifies ten times a second.
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tern/coll.h"
#include "tern/comm.h"
#include "tern/signal.h"
#include "tern/window.h"

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

enum { TICKS = 60, TICK_US = 100000 };

struct ticking {
    tern_window *window;
    int size;
};

static void *tick(void *arg)
{
    const struct ticking *ticking = arg;
    for (int n = 0; n < TICKS; n++) {
        usleep(TICK_US);
        for (int rank = 0; rank < ticking->size; rank++) {
            tern_status_ignore(tern_signal_notify(ticking->window, rank, 0, 1, TERN_NOTIFY_ADD));
        }
    }
    return NULL;
}

static int wait_for_ticks(tern_comm *world)
{
    struct ticking ticking = {.size = tern_comm_size(world)};
    pthread_t thread;
    bool ticks = tern_comm_rank(world) == 0;
    int status = tern_window_create(world, 64, NULL, &ticking.window);
    if (status < 0 || (ticks && pthread_create(&thread, NULL, tick, &ticking) != 0)) {
        return 2;
    }
    for (int n = 1; n <= TICKS && status == TERN_OK; n++) {
        status = tern_signal_wait(ticking.window, 0, TERN_CMP_GE, n, TERN_TIMEOUT_DEFAULT);
    }
    if (ticks) {
        pthread_join(thread, NULL);
    }
    return status == TERN_OK ? 1 : 2;
}

// 80 ms of a processor.
static void burn(void)
{
    clock_t end = clock() + CLOCKS_PER_SEC * 2 / 25;
    while (clock() < end) {
    }
}

int main(int argc, char **argv)
{
    tern_comm *world;
    pthread_t thread;
    const char *how = argc > 1 ? argv[1] : "";
    bool meet = strncmp(how, "meet", 4) == 0;
    int status = meet ? tern_init_at(atoi(getenv("TERN_RANK")), atoi(getenv("TERN_NRANKS")),
                                     argv[2], NULL, &world)
                      : tern_init(NULL, &world);
    if (status != TERN_OK || tern_barrier(world) != TERN_OK) {
        printf("%s\n", tern_last_error());
        return 1;
    }
    bool little = strcmp(how, "little") == 0;
    if ((little || strcmp(how, "works") == 0) && tern_comm_rank(world) == 1) {
        if (pthread_create(&thread, NULL, receive, world) != 0) {
            return 2;
        }
        while (pthread_tryjoin_np(thread, NULL) != 0) {
            if (little) {
                burn();
                usleep(900000);
            }
        }
        return 1;
    }
    if (strstr(how, "elsewhere") != NULL && tern_comm_rank(world) == 0) {
        sleep(100);
    }
    if (strcmp(how, "ticks") == 0) {
        return wait_for_ticks(world);
    }
    receive(world);
    return 1;
}
