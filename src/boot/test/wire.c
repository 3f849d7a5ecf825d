// SPDX-License-Identifier: Apache-2.0
// Messages and descriptors over a start-up socket: what is sent arrives whole, what is no message
// of this build is told apart and leaves no descriptor open.
#include "support/cmocka.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/wire.h"
#include "support/look.h"

static int ends[2];

static int make_ends(void **state)
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

static int close_ends(void **state)
{
    close(ends[0]);
    if (ends[1] >= 0) {
        close(ends[1]);
    }
    return 0;
}

static void message_arrives_as_it_was_sent(void **state)
{
    struct tern__wire_message sent = tern__wire_message(TERN__WIRE_HELLO);
    sent.rank = 5;
    sent.nranks = 64;
    sent.pid = 1234567;
    sent.tag = UINT64_C(0xfedcba9876543210);
    sent.timeout_ns = INT64_MAX;
    memset(sent.token, 0xa5, sizeof sent.token);
    strcpy(sent.text, "a sentence");
    struct tern__wire_message got;
    int fds[TERN__WIRE_FDS_MAX];
    int count = -1;
    assert_int_equal(tern__wire_send(ends[0], &sent, NULL, 0), 0);
    assert_int_equal(tern__wire_receive(ends[1], &got, fds, &count), 1);
    assert_memory_equal(&got, &sent, sizeof sent);
    assert_int_equal(count, 0);
}

static void most_descriptors_arrive_in_order_and_close_on_exec(void **state)
{
    struct tern__wire_message sent = tern__wire_message(TERN__WIRE_WELCOME);
    int own[TERN__WIRE_FDS_MAX];
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    int before = look_fds();
    for (int i = 0; i < TERN__WIRE_FDS_MAX; i++) {
        own[i] = open(i % 2 == 0 ? "/dev/null" : "/dev/zero", O_RDONLY);
        assert_true(own[i] >= 0);
    }
    assert_int_equal(tern__wire_send(ends[0], &sent, own, TERN__WIRE_FDS_MAX), 0);
    struct tern__wire_message got;
    assert_int_equal(tern__wire_receive(ends[1], &got, fds, &count), 1);
    assert_int_equal(count, TERN__WIRE_FDS_MAX);
    for (int i = 0; i < TERN__WIRE_FDS_MAX; i++) {
        struct stat given;
        struct stat taken;
        assert_int_equal(fstat(own[i], &given), 0);
        assert_int_equal(fstat(fds[i], &taken), 0);
        assert_true(given.st_rdev == taken.st_rdev);
        assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
        close(own[i]);
        close(fds[i]);
    }
    assert_int_equal(look_fds(), before);
}

static void nothing_to_receive_is_eagain(void **state)
{
    struct tern__wire_message got;
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    assert_int_equal(tern__wire_receive(ends[1], &got, fds, &count), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(count, 0);
}

static void closed_other_side_is_0_and_sending_is_an_error_without_signal(void **state)
{
    struct tern__wire_message message = tern__wire_message(TERN__WIRE_ACCEPTED);
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(tern__wire_send(ends[0], &message, NULL, 0), -1);
    assert_int_equal(errno, EPIPE);
    assert_int_equal(tern__wire_receive(ends[0], &message, fds, &count), 0);
}

// A side that closes with unread messages resets the connection; what it has said still counts.
static void last_words_of_a_side_that_closed_with_unread_mail_are_heard(void **state)
{
    struct tern__wire_message message = tern__wire_message(TERN__WIRE_HELLO);
    struct tern__wire_message last = tern__wire_message(TERN__WIRE_REFUSED);
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    strcpy(last.text, "go away");
    assert_int_equal(tern__wire_send(ends[0], &message, NULL, 0), 0);
    assert_int_equal(tern__wire_send(ends[1], &last, NULL, 0), 0);
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(tern__wire_receive(ends[0], &message, fds, &count), 1);
    assert_string_equal(message.text, "go away");
    assert_int_equal(tern__wire_receive(ends[0], &message, fds, &count), 0);
}

// Sends raw bytes with one descriptor and expects them to be no message.
static void expect_no_message(const void *bytes, size_t size)
{
    struct tern__wire_message got;
    int fds[TERN__WIRE_FDS_MAX];
    int count = -1;
    int before = look_fds();
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec piece = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = size};
    struct msghdr packet = {.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes};
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &ends[0], sizeof(int));
    assert_true(sendmsg(ends[0], &packet, 0) == (ssize_t)size);
    assert_int_equal(tern__wire_receive(ends[1], &got, fds, &count), -1);
    assert_int_equal(errno, EPROTO);
    assert_int_equal(count, 0);
    assert_int_equal(look_fds(), before);
}

static void garbage_is_eproto_and_its_descriptors_are_closed(void **state)
{
    struct tern__wire_message message = tern__wire_message(TERN__WIRE_HELLO);
    char long_one[sizeof message + 1];
    memset(long_one, 'x', sizeof long_one);
    expect_no_message("x", 1);
    expect_no_message(long_one, sizeof message);
    memcpy(long_one, &message, sizeof message);
    expect_no_message(long_one, sizeof long_one); // a byte too many
    expect_no_message(&message, sizeof message - 1);
    message.magic++;
    expect_no_message(&message, sizeof message);
    message = tern__wire_message(TERN__WIRE_HELLO);
    message.abi++;
    expect_no_message(&message, sizeof message);
}

static void text_without_end_gets_one(void **state)
{
    struct tern__wire_message message = tern__wire_message(TERN__WIRE_REFUSED);
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    memset(message.text, 'x', sizeof message.text);
    assert_int_equal(tern__wire_send(ends[0], &message, NULL, 0), 0);
    assert_int_equal(tern__wire_receive(ends[1], &message, fds, &count), 1);
    assert_int_equal(strlen(message.text), TERN__WIRE_TEXT_BYTES - 1);
}

// The limit of open files shows as such, not as a message of another build.
static void descriptors_beyond_the_limit_are_emfile(void **state)
{
    struct tern__wire_message message = tern__wire_message(TERN__WIRE_WELCOME);
    int given[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    int fds[TERN__WIRE_FDS_MAX];
    int count;
    int before = look_fds();
    struct rlimit old;
    assert_int_equal(tern__wire_send(ends[0], &message, given, 8), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    int next = dup(0);
    close(next);
    struct rlimit low = {.rlim_cur = (rlim_t)next + 3, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int got = tern__wire_receive(ends[1], &message, fds, &count);
    int error = errno;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_int_equal(got, -1);
    assert_int_equal(error, EMFILE);
    assert_int_equal(look_fds(), before);
}

#define WITH_ENDS(test) cmocka_unit_test_setup_teardown(test, make_ends, close_ends)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ENDS(message_arrives_as_it_was_sent),
        WITH_ENDS(most_descriptors_arrive_in_order_and_close_on_exec),
        WITH_ENDS(nothing_to_receive_is_eagain),
        WITH_ENDS(closed_other_side_is_0_and_sending_is_an_error_without_signal),
        WITH_ENDS(last_words_of_a_side_that_closed_with_unread_mail_are_heard),
        WITH_ENDS(garbage_is_eproto_and_its_descriptors_are_closed),
        WITH_ENDS(text_without_end_gets_one),
        WITH_ENDS(descriptors_beyond_the_limit_are_emfile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
