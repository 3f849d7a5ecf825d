// SPDX-License-Identifier: Apache-2.0
// What goes wrong: strangers on the port, ranks that die in the middle of a message, windows that
// are taken away while something comes, children that hold connections.
#include "support/cmocka.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/state.h"
#include "support/nets.h"

#define MIB ((size_t)1 << 20)

static const struct tern__xport *const net = &tern__xport_net;

static int dial(const struct net_rank *self, int rank)
{
    struct sockaddr_storage to = {0};
    memcpy(&to, self->machines.address[rank].bytes, self->machines.address[rank].length);
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, self->machines.address[rank].length) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool is_closed(int fd)
{
    char byte;
    struct pollfd end = {.fd = fd, .events = POLLIN};
    return poll(&end, 1, 20000) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static bool reaches(struct net_rank *self, int rank, uint32_t word)
{
    uint32_t back = 0;
    net->put(nets_at(self, rank, 128), (const char *)&word, sizeof word);
    net->get(nets_at(self, rank, 128), (char *)&back, sizeof back);
    return back == word;
}

static int with_strangers(struct net_rank *self, void *arg)
{
    struct tern__net_message hello = {.kind = TERN__NET_HELLO,
                                      .rank = 0,
                                      .word = TERN__CTL_ABI,
                                      .more = TERN__CTL_MAGIC};
    (void)arg;
    if (self->job.rank == 0) {
        char garbage[500];
        memset(garbage, 'x', sizeof garbage);
        int half = dial(self, 1);
        CHECK(half >= 0 && send(half, &hello, 20, 0) == 20); // and no more
        int loud = dial(self, 1);
        CHECK(loud >= 0 && send(loud, garbage, sizeof garbage, MSG_NOSIGNAL) > 0);
        CHECK(is_closed(loud));
        close(loud);
        hello.value = 1; // not the token
        int false_token = dial(self, 1);
        CHECK(send(false_token, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
        CHECK(is_closed(false_token));
        close(false_token);
        hello.value = 0;
        hello.rank = 60; // of no such rank
        int nobody = dial(self, 1);
        CHECK(send(nobody, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
        CHECK(is_closed(nobody));
        close(nobody);
        hello.rank = 0; // who is there already
        int twice = dial(self, 1);
        CHECK(reaches(self, 1, 5)); // so that this rank's own connection was first
        CHECK(send(twice, &hello, sizeof hello, MSG_NOSIGNAL) == sizeof hello);
        CHECK(is_closed(twice));
        close(twice);
        int many[TERN__NET_STRANGERS + 40];
        for (int i = 0; i < TERN__NET_STRANGERS + 40; i++) {
            many[i] = dial(self, 1);
            CHECK(many[i] >= 0);
        }
        CHECK(is_closed(many[0]) && is_closed(half)); // the oldest go
        CHECK(reaches(self, 1, 6));
        for (int i = 0; i < TERN__NET_STRANGERS + 40; i++) {
            close(many[i]);
        }
        close(half);
        CHECK(reaches(self, 1, 7));
    }
    nets_meet(self);
    CHECK(tern__flag_load(&self->job.ctl->comms[0].failed) == TERN__WORKING);
    CHECK(tern__ctl_first_dead(self->job.ctl) == -1);
    return 0;
}

static void strangers_are_sent_away(void **state)
{
    (void)state;
    assert_true(nets_run(2, MIB, with_strangers, NULL, 60));
}

static bool sees_dead(const struct net_rank *self, int rank)
{
    for (int i = 0; i < 2000; i++) {
        if (tern__flag_load(&self->job.ctl->ranks[rank].state) == TERN__RANK_DEAD) {
            return true;
        }
        poll(NULL, 0, 10);
    }
    return false;
}

// Rank 2 is stopped while ranks 0 and 1 send to it, and get from it; then it is killed. Both are
// told, by all threads that wait, and none of their memory is touched afterwards.
static void *get_much(void *arg)
{
    struct net_rank *self = arg;
    char *bytes = malloc(4 * MIB);
    net->get(nets_at(self, 2, 0), bytes, 4 * MIB);
    free(bytes);
    return NULL;
}

static int with_death(struct net_rank *self, void *arg)
{
    static char bytes[32 * MIB];
    pthread_t getter;
    (void)arg;
    if (self->job.rank == 2) {
        atomic_store(&self->shared->words[0], (uint32_t)getpid());
        raise(SIGSTOP);
        pause();
    }
    while (atomic_load(&self->shared->words[0]) == 0) {
        poll(NULL, 0, 1);
    }
    poll(NULL, 0, 50); // until it is stopped
    pid_t victim = (pid_t)atomic_load(&self->shared->words[0]);
    CHECK(pthread_create(&getter, NULL, get_much, self) == 0);
    if (self->job.rank == 0) {
        pid_t killer = fork();
        if (killer == 0) {
            poll(NULL, 0, 300);
            kill(victim, SIGKILL);
            _exit(0);
        }
        net->put(nets_at(self, 2, 0), bytes, 32 * MIB);
        waitpid(killer, NULL, 0);
    } else {
        net->put(nets_at(self, 2, 0), bytes, 32 * MIB);
        tern_status_ignore(tern__net_flush(self->job.net, -1));
    }
    pthread_join(getter, NULL);
    CHECK(sees_dead(self, 2));
    CHECK(tern__net_flush(self->job.net, -1) == TERN_OK); // nobody is left to be waited for
    CHECK(reaches(self, 1 - self->job.rank, 77));
    atomic_fetch_add(&self->shared->words[1], 1);
    while (atomic_load(&self->shared->words[1]) < 2) {
        poll(NULL, 0, 1);
    }
    return 0;
}

static void a_death_in_the_middle_of_messages_is_seen(void **state)
{
    (void)state;
    assert_true(nets_run_killed(3, 33 * MIB, with_death, NULL, 60, 2));
}

// A message that ends in its middle: the other side closes.
static int with_half(struct net_rank *self, void *arg)
{
    (void)arg;
    if (self->job.rank == 0) {
        CHECK(reaches(self, 1, 9));
        struct tern__net_message put = {.kind = TERN__NET_PUT,
                                        .number = 7,
                                        .generation = 3,
                                        .rank = 1,
                                        .offset = 4096,
                                        .bytes = MIB};
        struct tern__net_peer *peer = &self->job.net->peers[1];
        char some[1000] = {1};
        CHECK(send(peer->link->fd, &put, sizeof put, MSG_NOSIGNAL) == sizeof put);
        CHECK(send(peer->link->fd, some, sizeof some, MSG_NOSIGNAL) == sizeof some);
        shutdown(peer->link->fd, SHUT_WR);
    } else {
        CHECK(sees_dead(self, 0));
        CHECK(nets_at(self, 1, 4096)[0] == 0); // the first word would have come last
    }
    nets_meet(self);
    return 0;
}

static void a_message_cut_short_is_a_death(void **state)
{
    (void)state;
    assert_true(nets_run(2, 4 * MIB, with_half, NULL, 30));
}

// The receiver takes the window away, and its memory, while puts come and gets are answered.
static int with_removal(struct net_rank *self, void *arg)
{
    static char bytes[8 * MIB];
    (void)arg;
    if (self->job.rank == 0) {
        for (int i = 0; i < 20; i++) {
            net->put(nets_at(self, 1, 0), bytes, 8 * MIB);
            atomic_fetch_add(&self->shared->words[0], 1);
        }
        CHECK(tern__net_flush(self->job.net, -1) == TERN_OK);
        net->get(nets_at(self, 1, 0), bytes, 64);
        CHECK(tern__flag_load(&self->job.ctl->comms[0].failed) == TERN__FAILED);
        const char *said = self->job.ctl->comms[0].failed_text;
        CHECK(strstr(said, "rank 1 has destroyed window 7") != NULL);
    } else {
        while (atomic_load(&self->shared->words[0]) < 2) {
            poll(NULL, 0, 1);
        }
        tern__net_window_remove(self->job.net, self->base);
        CHECK(mprotect(self->base, 2 * self->size_bytes, PROT_NONE) == 0);
    }
    nets_meet(self);
    return 0;
}

static void nothing_is_stored_in_a_window_that_is_gone(void **state)
{
    (void)state;
    assert_true(nets_run(2, 8 * MIB, with_removal, NULL, 30));
}

// The receiver unmaps a window that it has not taken away: whoever gets from it waits for nothing.
static int with_unmapped(struct net_rank *self, void *arg)
{
    static char bytes[MIB];
    (void)arg;
    if (self->job.rank == 1) {
        CHECK(mprotect(self->base, 2 * self->size_bytes, PROT_NONE) == 0);
    }
    nets_meet(self);
    if (self->job.rank == 0) {
        net->get(nets_at(self, 1, 0), bytes, sizeof bytes);
        CHECK(sees_dead(self, 1));
    }
    nets_meet(self);
    const char *said = self->job.ctl->comms[0].failed_text;
    CHECK(self->job.rank == 0 || strstr(said, "memory that the program has unmapped") != NULL);
    return 0;
}

static void a_get_from_memory_that_is_unmapped_ends(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    print_message("skipped: under ThreadSanitizer answers are copied, which needs their memory\n");
    skip();
#endif
    assert_true(nets_run(2, MIB, with_unmapped, NULL, 30));
}

// A child holds none of the connections: its parent's death is seen while it lives.
static int with_child(struct net_rank *self, void *arg)
{
    (void)arg;
    if (self->job.rank == 1) {
        CHECK(reaches(self, 0, 4));
        pid_t child = fork();
        if (child == 0) {
            if (self->job.net != NULL) {
                _exit(1);
            }
            atomic_store(&self->shared->words[0], (uint32_t)getpid());
            sleep(60);
            _exit(0);
        }
        while (atomic_load(&self->shared->words[0]) == 0) {
            poll(NULL, 0, 1);
        }
        kill(getpid(), SIGKILL);
    }
    CHECK(sees_dead(self, 1));
    pid_t child = (pid_t)atomic_load(&self->shared->words[0]);
    CHECK(kill(child, 0) == 0);
    kill(child, SIGKILL);
    return 0;
}

static void a_child_holds_no_connection(void **state)
{
    (void)state;
    assert_true(nets_run_killed(2, MIB, with_child, NULL, 30, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_are_sent_away),
        cmocka_unit_test(a_death_in_the_middle_of_messages_is_seen),
        cmocka_unit_test(a_message_cut_short_is_a_death),
        cmocka_unit_test(nothing_is_stored_in_a_window_that_is_gone),
        cmocka_unit_test(a_get_from_memory_that_is_unmapped_ends),
        cmocka_unit_test(a_child_holds_no_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
