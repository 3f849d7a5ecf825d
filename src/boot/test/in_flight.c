// SPDX-License-Identifier: Apache-2.0
// Ranks of an ordinary user that has as many descriptors under way in Unix sockets as the limit of
// open files allows: whoever has to hand one over waits until others have taken theirs, up to the
// deadline, and then says which limit it is. Each rank is of a user of its own choice, so that no
// other test counts; root alone is not limited.
#include "support/cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/hub.h"
#include "boot/inbox.h"
#include "boot/join.h"
#include "boot/wire.h"
#include "mem/memfd.h"
#include "support/look.h"
#include "support/ranks.h"
#include "support/user.h"
#include "sync/ctl.h"

enum { FILES = 60 };

static const tern_options short_wait = {.timeout_ns = 400000000};

// Becomes an ordinary user, the same for all ranks of a test, with a small limit.
static int limit_files(const struct ranks *ranks)
{
    struct rlimit few = {.rlim_cur = FILES, .rlim_max = FILES};
    if (setrlimit(RLIMIT_NOFILE, &few) != 0) {
        return -1;
    }
    return getuid() != 0 ? 0 : user_become(10000 + (uid_t)getppid() % 50000);
}

static bool send_one(int fd)
{
    struct tern__wire_message message = tern__wire_message(TERN__WIRE_PARCEL);
    int null = STDIN_FILENO;
    return tern__wire_send(fd, &message, &null, 1) == 0;
}

static bool take_one(int fd)
{
    struct tern__wire_message message;
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    if (tern__wire_receive(fd, &message, fds, &count) != 1 || count != 1) {
        return false;
    }
    close(fds[0]);
    return true;
}

// Sends descriptors that nobody takes until the kernel lets no more pass: one above the limit.
static int stuff(int ends[2])
{
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    int sent = 0;
    while (sent < 4 * FILES && send_one(ends[0])) {
        sent++;
    }
    CHECK(errno == ETOOMANYREFS && sent <= FILES + 1);
    return 0;
}

static bool says_limit(void)
{
    char words[120];
    snprintf(words, sizeof words, "process %d may add to them up to its limit of open files, %d",
             (int)getpid(), FILES);
    return look_says(words) && look_says("raise it, or end the processes of this user that");
}

// The last process stuffs, and takes everything away when the others have begun to wait, or not at
// all.
static int meet_in_a_crowd(int rank, const struct ranks *ranks, void *for_ever)
{
    int ends[2];
    tern_comm *comm;
    char sign[128];
    snprintf(sign, sizeof sign, "%s-full", ranks->path);
    if (rank == 0) {
        CHECK(chmod(ranks->folder, 0777) == 0);
    }
    if (rank == 3) {
        ranks_await_open_folder(ranks->folder);
        CHECK(limit_files(ranks) == 0 && stuff(ends) == 0);
        CHECK(close(open(sign, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
        poll(NULL, 0, *(bool *)for_ever ? 1500 : 300);
        CHECK(unlink(sign) == 0);
        return close(ends[0]) + close(ends[1]);
    }
    ranks_await_file(sign);
    CHECK(limit_files(ranks) == 0);
    if (*(bool *)for_ever) {
        CHECK(tern_init_at(rank, 3, ranks->path, &short_wait, &comm) == TERN_ERR_SYSTEM);
        CHECK(says_limit());
        return 0;
    }
    CHECK(tern_init_at(rank, 3, ranks->path, NULL, &comm) == TERN_OK);
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void ranks_wait_until_others_take_theirs(void **state)
{
    bool for_ever = false;
    user_other_or_skip();
    assert_true(ranks_run(4, meet_in_a_crowd, &for_ever, 20));
}

static void limit_is_named_at_the_deadline(void **state)
{
    bool for_ever = true;
    user_other_or_skip();
    assert_true(ranks_run(4, meet_in_a_crowd, &for_ever, 20));
}

static int hear(int fd, struct tern__wire_message *answer, int *ctl_fd)
{
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    do {
        CHECK(tern__wire_receive(fd, answer, fds, &count) == 1);
    } while (answer->kind == TERN__WIRE_ACCEPTED);
    for (int i = 1; i < count; i++) {
        close(fds[i]);
    }
    *ctl_fd = count > 0 ? fds[0] : -1;
    return 0;
}

// A hub by hand, whose user has one descriptor less under way than is too many: one WELCOME passes.
static int welcome_one_by_one(int rank, const struct ranks *ranks, void *in_time)
{
    static const uint8_t token[16] = {1};
    int stuffed[2];
    int own[3];
    int ctl_fd;
    struct tern__hub *hub;
    struct tern__wire_message message;
    CHECK(limit_files(ranks) == 0 && stuff(stuffed) == 0 && take_one(stuffed[1]));
    CHECK(tern__hub_create(3, token, &hub) == TERN_OK);
    for (int i = 0; i < 3; i++) {
        int ends[2];
        int inbox[2];
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, inbox) == 0);
        CHECK(tern__hub_add(hub, ends[0]) == TERN_OK);
        own[i] = ends[1];
        message = tern__wire_message(TERN__WIRE_HELLO);
        message.rank = i;
        message.nranks = 3;
        message.timeout_ns = INT64_C(300000000);
        memcpy(message.token, token, sizeof token);
        CHECK(tern__wire_send(ends[1], &message, &inbox[1], 1) == 0);
        tern__hub_handle(hub, &(struct pollfd){.fd = ends[0], .revents = POLLIN});
        close(inbox[0]);
        close(inbox[1]);
    }
    CHECK(tern__hub_welcomes(hub) && !tern__hub_complete(hub));
    if (*(bool *)in_time) {
        for (int i = 0; i < 3; i++) {
            CHECK(hear(own[i], &message, &ctl_fd) == 0 && message.kind == TERN__WIRE_WELCOME);
            close(ctl_fd);
            tern__hub_expire(hub);
        }
        CHECK(tern__hub_complete(hub) && !tern__hub_welcomes(hub));
    } else {
        while (tern__hub_welcomes(hub)) {
            poll(NULL, 0, 5);
            tern__hub_expire(hub);
        }
        CHECK(hear(own[1], &message, &ctl_fd) == 0 && message.kind == TERN__WIRE_REFUSED);
        CHECK(message.status == TERN_ERR_SYSTEM && strstr(message.text, "limit of open files, 60"));
        CHECK(hear(own[2], &message, &ctl_fd) == 0 && message.kind == TERN__WIRE_REFUSED);
        void *base; // rank 0 has been welcomed: the communicator tells it
        CHECK(hear(own[0], &message, &ctl_fd) == 0 && message.kind == TERN__WIRE_WELCOME);
        CHECK(tern__memfd_map(ctl_fd, sizeof(struct tern__ctl), &base) == TERN_OK);
        const struct tern__ctl *ctl = base;
        CHECK(tern__flag_load(&ctl->comms[0].failed) == TERN__FAILED);
        CHECK(strstr(ctl->comms[0].failed_text, "limit of open files, 60") != NULL);
    }
    tern__hub_destroy(hub);
    return 0;
}

static void hub_welcomes_rank_after_rank_as_they_take_theirs(void **state)
{
    bool in_time = true;
    user_other_or_skip();
    assert_true(ranks_run(1, welcome_one_by_one, &in_time, 20));
}

static void hub_that_cannot_welcome_all_tells_all(void **state)
{
    bool in_time = false;
    user_other_or_skip();
    assert_true(ranks_run(1, welcome_one_by_one, &in_time, 20));
}

// Handing a window over, by the same rule.
static int send_a_parcel(int rank, const struct ranks *ranks, void *arg)
{
    int stuffed[2];
    struct tern__job *job;
    CHECK(limit_files(ranks) == 0);
    CHECK(tern__join_alone(INT64_C(300000000), &job) == TERN_OK);
    CHECK(stuff(stuffed) == 0);
    CHECK(tern__inbox_send(job, 0, 7, STDIN_FILENO) == TERN_ERR_SYSTEM);
    CHECK(says_limit());
    CHECK(take_one(stuffed[1]));
    CHECK(tern__inbox_send(job, 0, 7, STDIN_FILENO) == TERN_OK);
    tern__job_leave(job);
    return 0;
}

static void descriptor_for_a_peer_waits_too(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(1, send_a_parcel, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_wait_until_others_take_theirs),
        cmocka_unit_test(limit_is_named_at_the_deadline),
        cmocka_unit_test(hub_welcomes_rank_after_rank_as_they_take_theirs),
        cmocka_unit_test(hub_that_cannot_welcome_all_tells_all),
        cmocka_unit_test(descriptor_for_a_peer_waits_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
