// SPDX-License-Identifier: Apache-2.0
// Meeting where another user is: in a folder that all can write to, at a socket that the other has
// put there, as a rank, as the hub, as the launcher. Each is refused with a sentence that names
// both users, before anything is handed over. Needs root, who can become another user.
#include "support/cmocka.h"
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "boot/hub.h"
#include "boot/wire.h"
#include "support/look.h"
#include "support/ranks.h"
#include "support/user.h"

static const tern_options short_wait = {.timeout_ns = 2 * TERN_NS_PER_SECOND};

// "belongs to user 4242, process 12 to user 0", with this process's own numbers.
static bool says_users(uid_t theirs, uid_t ours)
{
    char words[120];
    snprintf(words, sizeof words, "belongs to user %u, process %d to user %u", (unsigned)theirs,
             (int)getpid(), (unsigned)ours);
    return look_says(words);
}

static int socket_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    return bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 8) == 0 ? fd
                                                                                            : -1;
}

// Whoever comes first opens the folder to all, as /tmp is.
static int open_folder(const struct ranks *ranks)
{
    return chmod(ranks->folder, 01777);
}

// Rank 0 is of the other user.
static int hosted_by_another(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    if (rank == 0) {
        CHECK(open_folder(ranks) == 0 && user_become(USER_OTHER) == 0);
        umask(0);
        CHECK(tern_init_at(0, 2, ranks->path, &short_wait, &comm) == TERN_ERR_TIMEOUT);
        return 0;
    }
    ranks_await_file(ranks->path);
    CHECK(tern_init_at(1, 2, ranks->path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says(ranks->path) && says_users(USER_OTHER, 0));
    CHECK(tern_init_at(0, 2, ranks->path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says(ranks->path) && says_users(USER_OTHER, 0));
    return 0;
}

static void rank_does_not_join_what_another_user_hosts(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(2, hosted_by_another, NULL, 20));
}

// The other user listens at a socket that looks like this user's own.
static int listened_by_another(int rank, const struct ranks *ranks, void *arg)
{
    char bytes[sizeof(struct tern__wire_message)];
    if (rank == 0) {
        CHECK(open_folder(ranks) == 0 && user_become(USER_OTHER) == 0);
        int listener = socket_at(ranks->path);
        CHECK(listener >= 0);
        int fd = accept(listener, NULL, NULL);
        CHECK(fd >= 0 && recv(fd, bytes, sizeof bytes, 0) == 0); // no word was said
        return 0;
    }
    tern_comm *comm;
    ranks_await_file(ranks->path);
    CHECK(chown(ranks->path, 0, 0) == 0);
    CHECK(tern_init_at(1, 2, ranks->path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says("listens at the rendezvous path") && says_users(USER_OTHER, 0));
    CHECK(unlink(ranks->path) == 0);
    return 0;
}

static void rank_says_nothing_to_a_listener_of_another_user(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(2, listened_by_another, NULL, 20));
}

// Rank 1 is of the other user, or what it connects with is; the job goes on without it.
static int joined_by_another(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    _Atomic int *refusals = arg;
    if (rank == 0) {
        CHECK(open_folder(ranks) == 0);
        umask(0);
    }
    if (rank < 2) {
        ranks_count_await(refusals, rank == 1 ? 2 : 0);
        return ranks_meet(rank, 2, ranks->path);
    }
    ranks_await_file(ranks->path);
    CHECK(user_become(USER_OTHER) == 0);
    if (rank == 2) {
        CHECK(tern_init_at(1, 2, ranks->path, &short_wait, &comm) == TERN_ERR_REFUSED);
        CHECK(says_users(0, USER_OTHER));
        atomic_fetch_add(refusals, 1);
        return 0;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct tern__wire_message answer;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", ranks->path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CHECK(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(recv(fd, &answer, sizeof answer, 0) == sizeof answer);
    CHECK(answer.kind == TERN__WIRE_REFUSED && answer.status == TERN_ERR_REFUSED);
    CHECK(strstr(answer.text, "which wants to join the job, belongs to user 4242, process ") != 0);
    CHECK(strstr(answer.text, " to user 0;") != NULL);
    atomic_fetch_add(refusals, 1);
    return 0;
}

static void process_of_another_user_is_refused_and_the_job_goes_on(void **state)
{
    user_other_or_skip();
    _Atomic int *refusals = ranks_shared(sizeof(int));
    assert_true(refusals != NULL && ranks_run(4, joined_by_another, refusals, 20));
}

// The other user's symbolic link leads to a live job of this user, its stale socket to nobody.
static int traps_in_the_folder(int rank, const struct ranks *ranks, void *arg)
{
    char path[128];
    struct stat state;
    tern_comm *comm;
    _Atomic int *ended = arg;
    snprintf(path, sizeof path, "%s-trap", ranks->path);
    if (rank < 2) {
        ranks_count_await(ended, rank == 1 ? 1 : 0);
        return ranks_meet(rank, 2, ranks->path);
    }
    ranks_await_file(ranks->path);
    CHECK(symlink(ranks->path, path) == 0 && lchown(path, USER_OTHER, USER_OTHER) == 0);
    CHECK(tern_init_at(1, 2, path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says(path) && says_users(USER_OTHER, 0));
    CHECK(lchown(path, 0, 0) == 0);
    CHECK(tern_init_at(1, 2, path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says("exists and is not a rendezvous socket"));
    CHECK(unlink(path) == 0);
    close(socket_at(path));
    CHECK(chown(path, USER_OTHER, USER_OTHER) == 0);
    CHECK(tern_init_at(0, 1, path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(says_users(USER_OTHER, 0));
    CHECK(lstat(path, &state) == 0); // not ours to remove
    CHECK(unlink(path) == 0);
    atomic_fetch_add(ended, 1);
    return 0;
}

static void links_and_sockets_of_another_user_are_left_alone(void **state)
{
    user_other_or_skip();
    _Atomic int *ended = ranks_shared(sizeof(int));
    assert_true(ended != NULL && ranks_run(3, traps_in_the_folder, ended, 20));
}

// A launcher of one user, a rank of another, as a set-uid program would be.
static int launched_by_another(int rank, const struct ranks *ranks, void *arg)
{
    int ends[2];
    char number[16];
    char bytes[sizeof(struct tern__wire_message)];
    tern_comm *comm;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0);
    CHECK(user_become(USER_OTHER) == 0);
    snprintf(number, sizeof number, "%d", ends[1]);
    setenv("TERN_RANK", "0", 1);
    setenv("TERN_NRANKS", "1", 1);
    setenv("TERN_HUB_FD", number, 1);
    setenv("TERN_TOKEN", "000102030405060708090a0b0c0d0e0f", 1);
    CHECK(tern_init(&short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says("which is the launcher of this job,") && says_users(0, USER_OTHER));
    CHECK(recv(ends[0], bytes, sizeof bytes, MSG_DONTWAIT) < 0);
    CHECK(setenv("TERN_HUB_FD", "2", 1) == 0);
    CHECK(tern_init(&short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says("not at the other end of a Unix socket"));
    return 0;
}

static void rank_does_not_join_a_launcher_of_another_user(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(1, launched_by_another, NULL, 20));
}

// The launcher's own socket says nothing of a rank that became another user; its inbox does.
static int inbox_of_another(int rank, const struct ranks *ranks, void *arg)
{
    static const uint8_t token[16] = {1};
    struct tern__hub *hub;
    struct tern__wire_message message;
    int ends[2];
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    CHECK(tern__hub_create(1, token, &hub) == TERN_OK);
    CHECK(tern__hub_add(hub, ends[0]) == TERN_OK);
    pid_t pid = fork();
    if (pid == 0) {
        int inbox[2];
        message = tern__wire_message(TERN__WIRE_HELLO);
        message.nranks = 1;
        message.timeout_ns = INT64_C(1000000000);
        memcpy(message.token, token, sizeof token);
        _exit(user_become(USER_OTHER) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, inbox) == 0 &&
                      tern__wire_send(ends[1], &message, &inbox[1], 1) == 0
                  ? 0
                  : 1);
    }
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    struct pollfd fd;
    CHECK(tern__hub_pollfds(hub, &fd, 1) == 1 && poll(&fd, 1, 5000) == 1);
    tern__hub_handle(hub, &fd);
    CHECK(tern__wire_receive(ends[1], &message, fds, &count) == 1);
    CHECK(message.kind == TERN__WIRE_REFUSED && message.status == TERN_ERR_REFUSED);
    CHECK(strstr(message.text, "which made the inbox of a rank, belongs to user 4242") != NULL);
    tern__hub_destroy(hub);
    close(ends[1]);
    return 0;
}

static void inbox_of_another_user_is_refused(void **state)
{
    user_other_or_skip();
    assert_true(ranks_run(1, inbox_of_another, NULL, 20));
}

// In a user namespace without any numbers all users look alike.
static int meet_without_a_number(int rank, const struct ranks *ranks, void *arg)
{
    tern_comm *comm;
    if (unshare(CLONE_NEWUSER) != 0) {
        print_message("not tested: this process may not have a user namespace\n");
        return 0;
    }
    CHECK(tern_init_at(0, 1, ranks->path, &short_wait, &comm) == TERN_ERR_REFUSED);
    CHECK(look_says("other users cannot be told from it"));
    CHECK(tern_init(&short_wait, &comm) == TERN_OK); // nobody else is involved
    CHECK(tern_comm_destroy(comm) == TERN_OK);
    return 0;
}

static void users_that_cannot_be_told_apart_do_not_meet(void **state)
{
    assert_true(ranks_run(1, meet_without_a_number, NULL, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_does_not_join_what_another_user_hosts),
        cmocka_unit_test(rank_says_nothing_to_a_listener_of_another_user),
        cmocka_unit_test(process_of_another_user_is_refused_and_the_job_goes_on),
        cmocka_unit_test(links_and_sockets_of_another_user_are_left_alone),
        cmocka_unit_test(rank_does_not_join_a_launcher_of_another_user),
        cmocka_unit_test(inbox_of_another_user_is_refused),
        cmocka_unit_test(users_that_cannot_be_told_apart_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
