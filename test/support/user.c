// SPDX-License-Identifier: Apache-2.0
// Becoming another user, which root may.

#include "support/cmocka.h"
#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user.h"

int user_become(uid_t uid)
{
    return setgroups(0, NULL) == 0 && setgid(uid) == 0 && setuid(uid) == 0 ? 0 : -1;
}

void user_other_or_skip(void)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(user_become(USER_OTHER) == 0 ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        print_message("skipped: this process cannot become another user; root can\n");
        skip();
    }
}
