// SPDX-License-Identifier: Apache-2.0
// A host of a lab: namespaces of its own, and a first process that takes commands from rsh.c at a
// socket in the lab's folder, starts each in a session of its own with a fresh environment, reaps
// whatever ends, and answers with the exit status.
#include "netlab.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COMMANDS = 256 }; // that run at the same time

struct running {
    pid_t pid; // 0: free
    int asker; // who waits for its exit status
};

static struct running running[COMMANDS];

static int fails(const char *what)
{
    int why = errno;
    fprintf(stderr, "netlab: a host cannot %s: %s\n", what, strerror(why));
    return why == EPERM || why == EACCES || why == ENOSYS ? NETLAB_SKIP : 1;
}

// Programs read here which network devices there are. The rest of /sys, with the control groups,
// stays as it is; so does all of it where that is not allowed.
static void show_devices(const char *folder)
{
    const char *at = netlab_file(folder, "sys");
    if (mount("sysfs", at, "sysfs", 0, NULL) != 0) {
        return;
    }
    static const char *const shown[] = {"class/net", "devices/virtual/net"};
    for (size_t i = 0; i < 2; i++) {
        char from[160];
        char to[64];
        snprintf(from, sizeof from, "%s/sys/%s", folder, shown[i]);
        snprintf(to, sizeof to, "/sys/%s", shown[i]);
        (void)!mount(from, to, NULL, MS_BIND, NULL);
    }
    umount2(netlab_file(folder, "sys"), MNT_DETACH);
}

static int furnish(const char *folder, const char *name)
{
    char boot_id[32];
    snprintf(boot_id, sizeof boot_id, "%s.boot_id", name);
    if (sethostname(name, strlen(name)) != 0) {
        return fails("have a name");
    }
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        return fails("have mounts of its own");
    }
    show_devices(folder);
    if (mount("proc", "/proc", "proc", 0, NULL) != 0) {
        return fails("have its own /proc");
    }
    if (mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777") != 0) {
        return fails("have its own /dev/shm");
    }
    if (mount(netlab_file(folder, "hosts"), "/etc/hosts", NULL, MS_BIND, NULL) != 0) {
        return fails("have its own /etc/hosts");
    }
    if (mount(netlab_file(folder, boot_id), "/proc/sys/kernel/random/boot_id", NULL, MS_BIND,
              NULL) != 0) {
        return fails("have its own boot id");
    }
    return 0;
}

static int listen_for_rsh(const char *folder, const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", netlab_file(folder, name));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, 64) != 0) {
        return -1;
    }
    return fd;
}

static void run_command(const char *command, const int *standard)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    for (int i = 0; i < 3; i++) {
        dup2(standard[i], i); // received descriptors are above 2
    }
    close_range(3, ~0U, 0);
    const char *home = getenv("HOME");
    const char *user = getenv("USER");
    char in_home[256];
    char as_user[256];
    snprintf(in_home, sizeof in_home, "HOME=%s", home != NULL ? home : "/");
    snprintf(as_user, sizeof as_user, "USER=%s", user != NULL ? user : "root");
    if (home == NULL || chdir(home) != 0) {
        (void)!chdir("/");
    }
    const char *line[] = {"sh", "-c", command, NULL};
    const char *environment[] = {
        in_home, as_user, "SHELL=/bin/sh",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", NULL};
    execve("/bin/sh", (char **)(uintptr_t)line, (char **)(uintptr_t)environment);
    _exit(127);
}

// The command and three descriptors; false: something else came, and nothing is open.
static bool receive(int asker, char *command, int *standard)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec text = {.iov_base = command, .iov_len = NETLAB_COMMAND - 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got = recvmsg(asker, &message, MSG_CMSG_CLOEXEC);
    if (got <= 0 || control.head.cmsg_len != CMSG_LEN(3 * sizeof(int))) {
        return false;
    }
    command[got] = '\0';
    memcpy(standard, CMSG_DATA(&control.head), 3 * sizeof(int));
    return true;
}

static void start_command(int listener)
{
    static char command[NETLAB_COMMAND];
    int standard[3];
    int asker = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct timeval limit = {.tv_sec = 2};
    if (asker < 0) {
        return;
    }
    setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    struct running *free_slot = running;
    while (free_slot < running + COMMANDS && free_slot->pid != 0) {
        free_slot++;
    }
    if (free_slot == running + COMMANDS || !receive(asker, command, standard)) {
        close(asker);
        return;
    }
    pid_t pid = fork();
    if (pid == 0) {
        run_command(command, standard);
    }
    for (int i = 0; i < 3; i++) {
        close(standard[i]);
    }
    if (pid < 0) {
        close(asker);
        return;
    }
    *free_slot = (struct running){.pid = pid, .asker = asker};
}

static void reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        for (struct running *at = running; at < running + COMMANDS; at++) {
            if (at->pid == pid) {
                int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
                (void)!send(at->asker, &code, sizeof code, MSG_NOSIGNAL);
                close(at->asker);
                at->pid = 0;
            }
        }
    }
}

static void serve(int listener, int signals)
{
    for (;;) {
        struct pollfd wait[2] = {{.fd = listener, .events = POLLIN},
                                 {.fd = signals, .events = POLLIN}};
        if (poll(wait, 2, -1) < 0 && errno != EINTR) {
            return;
        }
        if (wait[1].revents != 0) {
            struct signalfd_siginfo info;
            (void)!read(signals, &info, sizeof info);
            reap();
        }
        if (wait[0].revents != 0) {
            start_command(listener);
        }
    }
}

// The first process of a host. It says an exit status to the keeper, and serves if that is 0.
static void live(const struct lab *lab, int index, int keeper)
{
    char name[16];
    snprintf(name, sizeof name, "tn%d", index);
    prctl(PR_SET_PDEATHSIG, SIGKILL); // if the keeper has died before, the write below ends this
    prctl(PR_SET_NAME, "rshd");
    setsid();
    int status = furnish(lab->folder, name);
    int listener = status == 0 ? listen_for_rsh(lab->folder, name) : -1;
    if (status == 0 && listener < 0) {
        status = fails("listen in the lab's folder");
    }
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    signal(SIGPIPE, SIG_DFL);
    int signals = signalfd(-1, &child, SFD_CLOEXEC);
    dup2(0, 2); // who reads what is said about a lab does not wait for its hosts
    if (write(keeper, &status, sizeof status) == sizeof status && status == 0) {
        close(keeper);
        serve(listener, signals);
    }
    _exit(1);
}

int netlab_host(struct lab *lab, int index)
{
    int said[2];
    if (pipe2(said, 0) != 0) {
        return fails("be told from another");
    }
    long own = CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS | SIGCHLD;
    pid_t pid = (pid_t)syscall(SYS_clone, own, NULL, NULL, NULL, NULL);
    if (pid < 0) {
        int status = fails("have namespaces of its own");
        close(said[0]);
        close(said[1]);
        return status;
    }
    if (pid == 0) {
        close(said[0]);
        live(lab, index, said[1]);
    }
    lab->init[index] = pid;
    close(said[1]);
    int status = 1;
    if (read(said[0], &status, sizeof status) != sizeof status) {
        status = 1;
    }
    close(said[0]);
    return status;
}
