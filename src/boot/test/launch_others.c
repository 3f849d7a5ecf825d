// SPDX-License-Identifier: Apache-2.0
// The port of MASTER_PORT: while a job lasts nobody gets it by asking for any port, or for this
// one, and rank 0 can listen there.
#include "support/cmocka.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/launch_others.h"

static int bind_to(int port, bool shares)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    int reuse = shares;
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse), 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 1) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int port_of(const struct tern__others *others)
{
    for (int i = 0; i < TERN__OTHERS; i++) {
        if (others->used[i] && strncmp(others->text[i], "MASTER_PORT=", 12) == 0) {
            return atoi(others->text[i] + 12);
        }
    }
    return 0;
}

static void rank_0_alone_can_listen_there(void **state)
{
    struct tern__others others = {0};
    int held = -1;
    tern__others_choose(&others, 2, true, &held);
    int port = port_of(&others);
    assert_true(port > 0 && held >= 0);
    assert_int_equal(bind_to(port, false), -1);
    assert_int_equal(errno, EADDRINUSE);
    int server = bind_to(port, true);
    assert_true(server >= 0);
    close(server);
    close(held);
    server = bind_to(port, false); // nothing keeps it any more
    assert_true(server >= 0);
    close(server);
}

static void what_the_user_has_set_is_not_replaced(void **state)
{
    struct tern__others others = {0};
    int held = -1;
    assert_int_equal(setenv("MASTER_PORT", "7", 1), 0);
    tern__others_choose(&others, 2, true, &held);
    assert_int_equal(port_of(&others), 0);
    unsetenv("MASTER_PORT");
    tern__others_choose(&others, 2, false, &held); // on several machines
    assert_int_equal(port_of(&others), 0);
    assert_int_equal(held, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_0_alone_can_listen_there),
        cmocka_unit_test(what_the_user_has_set_is_not_replaced),
    };
    unsetenv("MASTER_PORT");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
