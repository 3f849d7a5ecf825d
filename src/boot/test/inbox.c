// SPDX-License-Identifier: Apache-2.0
// Descriptors from rank to rank: found by tag in any order, strays dropped, nothing left open. A
// job of one rank sends to itself, which is the same socket.
#include "support/cmocka.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "boot/inbox.h"
#include "boot/join.h"
#include "boot/wire.h"
#include "support/look.h"

static struct tern__job *job;

static int join(void **state)
{
    return tern__join_alone(INT64_C(1000000000), &job);
}

static int leave(void **state)
{
    tern__job_leave(job);
    return 0;
}

// Sends a fresh file that can be told apart by its size.
static void send_sized(uint64_t tag, off_t size)
{
    char name[] = "/tmp/tern-inbox-XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(ftruncate(fd, size), 0);
    assert_int_equal(tern__inbox_send(job, 0, tag, fd), 0);
    close(fd);
}

static void expect_sized(uint64_t tag, off_t size)
{
    int fd = -1;
    struct stat state;
    assert_int_equal(tern__inbox_take(job, tag, &fd), 0);
    assert_int_equal(fstat(fd, &state), 0);
    assert_int_equal(state.st_size, size);
    close(fd);
}

static void parcels_are_found_by_tag_in_any_order(void **state)
{
    int before = look_fds();
    for (uint64_t tag = 0; tag < 10; tag++) {
        send_sized(tag << 32 | 7, (off_t)tag + 1);
    }
    static const uint64_t order[] = {3, 9, 0, 1, 8, 2, 7, 4, 6, 5};
    for (int i = 0; i < 10; i++) {
        expect_sized(order[i] << 32 | 7, (off_t)order[i] + 1);
    }
    assert_int_equal(look_fds(), before);
}

// A slot of the control memory is used again, and so are its tags: an older parcel that nobody
// asked for must not be taken for the new one.
static void newest_parcel_of_a_tag_wins(void **state)
{
    int before = look_fds();
    send_sized(7, 1);
    send_sized(8, 2);
    expect_sized(8, 2); // the one of size 1 now waits in the list
    send_sized(7, 3);
    expect_sized(7, 3);
    send_sized(9, 4);
    expect_sized(9, 4);
    assert_int_equal(look_fds(), before); // and is closed
}

static void missing_parcel_is_an_error_that_names_the_likely_cause(void **state)
{
    int fd = -5;
    assert_int_equal(tern__inbox_take(job, 1, &fd), TERN_ERR_SYSTEM);
    assert_int_equal(fd, -5);
    assert_true(look_says("ulimit -n"));
}

static void strays_are_dropped_and_closed(void **state)
{
    int before = look_fds();
    struct tern__wire_message stray = tern__wire_message(TERN__WIRE_PARCEL);
    int fds[3] = {0, 1, 2};
    stray.tag = 5; // token of no job
    assert_int_equal(tern__wire_send(job->outbox[0], &stray, fds, 1), 0);
    memcpy(stray.token, job->token, sizeof stray.token);
    assert_int_equal(tern__wire_send(job->outbox[0], &stray, NULL, 0), 0); // no descriptor
    assert_int_equal(tern__wire_send(job->outbox[0], &stray, fds, 3), 0);  // too many
    stray.kind = TERN__WIRE_HELLO;
    assert_int_equal(tern__wire_send(job->outbox[0], &stray, fds, 1), 0); // no parcel
    assert_int_equal(send(job->outbox[0], "garbage", 7, 0), 7);
    send_sized(5, 77);
    expect_sized(5, 77);
    int fd;
    assert_int_equal(tern__inbox_take(job, 5, &fd), TERN_ERR_SYSTEM);
    assert_int_equal(look_fds(), before);
}

static void leaving_closes_what_was_never_asked_for(void **state)
{
    int before = look_fds();
    assert_int_equal(join(state), 0);
    send_sized(1, 1);
    send_sized(2, 2);
    expect_sized(2, 2); // number 1 is now kept in the list
    send_sized(3, 3);   // and this one in the socket
    assert_int_equal(leave(state), 0);
    assert_int_equal(look_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parcels_are_found_by_tag_in_any_order, join, leave),
        cmocka_unit_test_setup_teardown(newest_parcel_of_a_tag_wins, join, leave),
        cmocka_unit_test_setup_teardown(missing_parcel_is_an_error_that_names_the_likely_cause,
                                        join, leave),
        cmocka_unit_test_setup_teardown(strays_are_dropped_and_closed, join, leave),
        cmocka_unit_test(leaving_closes_what_was_never_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
