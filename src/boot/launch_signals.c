// SPDX-License-Identifier: Apache-2.0
// Signals of a launch arrive through a signalfd, in the same poll as everything else. A signal that
// the caller ignores (nohup: SIGHUP) stays ignored, here and in the ranks.

#include "boot/launch_signals.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

static const int forwarded_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

bool tern__signal_ends_job(int number)
{
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

// SIGCHLD, and those of the forwarded signals that the caller does not ignore: a blocked signal
// reaches a signalfd even if it is ignored.
static sigset_t wanted_signals(void)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    for (size_t i = 0; i < sizeof forwarded_signals / sizeof forwarded_signals[0]; i++) {
        struct sigaction action;
        if (sigaction(forwarded_signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&wanted, forwarded_signals[i]);
        }
    }
    return wanted;
}

int tern__signals_take(struct tern__signals *signals)
{
    sigset_t wanted = wanted_signals();
    signals->fd = signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC);
    if (signals->fd < 0) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: cannot make a signalfd");
    }
    if (prctl(PR_GET_CHILD_SUBREAPER, &signals->subreaper_before) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        tern__fail_errno(TERN_ERR_SYSTEM, "tern_launch: this kernel has no child subreaper");
        close(signals->fd);
        return TERN_ERR_SYSTEM;
    }
    sigprocmask(SIG_BLOCK, &wanted, &signals->mask_before);
    // With SIGCHLD ignored the kernel would reap the ranks itself and their statuses were lost.
    struct sigaction keep = {.sa_handler = SIG_DFL};
    sigaction(SIGCHLD, &keep, &signals->child_before);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, &signals->pipe_before);
    return TERN_OK;
}

void tern__signals_give_back(struct tern__signals *signals)
{
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    struct timespec now = {0};
    while (sigtimedwait(&child, NULL, &now) > 0 || errno == EINTR) {
    }
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigaction(SIGPIPE, &signals->pipe_before, NULL);
    prctl(PR_SET_CHILD_SUBREAPER, signals->subreaper_before);
    close(signals->fd);
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

void tern__signals_reset_in_child(const struct tern__signals *signals)
{
    sigaction(SIGCHLD, &signals->child_before, NULL);
    sigaction(SIGPIPE, &signals->pipe_before, NULL);
    // exec would reset handlers too, but a pending signal is delivered before it.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
            action.sa_handler != SIG_DFL) {
            sigaction(number, &standard, NULL);
        }
    }
    sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}

int tern__signals_next(const struct tern__signals *signals, bool *from_terminal)
{
    struct signalfd_siginfo info;
    ssize_t got = read(signals->fd, &info, sizeof info);
    *from_terminal = got == (ssize_t)sizeof info && info.ssi_code == SI_KERNEL;
    return got == (ssize_t)sizeof info ? (int)info.ssi_signo : 0;
}
