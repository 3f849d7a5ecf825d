// SPDX-License-Identifier: Apache-2.0
// The command `netlab`: makes a lab and prints its folder. There are LAB/rsh, which stands in for
// ssh, and LAB/netlab, which is this command for that lab.
#include "netlab.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: netlab [--for PID] up N [RATE]             N hosts behind a bridge; RATE as tc has it\n"
    "       netlab [--for PID] wire N GBIT DELAY_US    behind a switch with a rate and a delay\n"
    "It prints the folder LAB of the lab, which ends with process PID, or with LAB/netlab down.\n"
    "       LAB/rsh HOST COMMAND...           on host tn0, tn1, ...; as ssh\n"
    "       LAB/netlab cut HOST [from|to]     the host's cable, in one direction or both\n"
    "       LAB/netlab mend HOST [from|to]\n"
    "       LAB/netlab flap HOST MS TIMES     cut and mended for MS milliseconds each, in turn\n"
    "       LAB/netlab stop HOST              freezes all of its processes; go HOST: goes on\n"
    "       LAB/netlab left [HOST]            what runs and what is in /dev/shm; status 1: something\n"
    "       LAB/netlab down\n"
    "Exit status 77, with a sentence: this box does not allow labs.\n";

static const char prefix[] = "tern-netlab.";

const char *netlab_file(const char *folder, const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static const char *folder_of_labs(void)
{
    const char *folder = getenv("TMPDIR"); // a socket's path has at most 107 bytes
    return folder != NULL && *folder == '/' && strlen(folder) < 60 ? folder : "/tmp";
}

static void remove_folder(const char *folder)
{
    DIR *open_folder = opendir(folder);
    struct dirent *entry;
    while (open_folder != NULL && (entry = readdir(open_folder)) != NULL) {
        if (entry->d_name[0] != '.' && unlink(netlab_file(folder, entry->d_name)) != 0) {
            rmdir(netlab_file(folder, entry->d_name));
        }
    }
    if (open_folder != NULL) {
        closedir(open_folder);
    }
    rmdir(folder);
}

// The keeper holds a lock on the folder from before there is a file `cables` in it. Its number
// alone would not do: it may be a zombie, or another process by now.
static bool is_dead(const char *folder, pid_t keeper)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool dead = kill(keeper, 0) != 0 && errno == ESRCH;
    if (fd >= 0) {
        dead = dead || (access(netlab_file(folder, "cables"), F_OK) == 0 &&
                        flock(fd, LOCK_EX | LOCK_NB) == 0);
        close(fd);
    }
    return dead;
}

static void sweep(void)
{
    DIR *labs = opendir(folder_of_labs());
    struct dirent *entry;
    while (labs != NULL && (entry = readdir(labs)) != NULL) {
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0) {
            int pid = atoi(entry->d_name + sizeof prefix - 1);
            char folder[400];
            snprintf(folder, sizeof folder, "%s/%s", folder_of_labs(), entry->d_name);
            if (pid > 0 && is_dead(folder, pid)) {
                remove_folder(folder);
            }
        }
    }
    if (labs != NULL) {
        closedir(labs);
    }
}

static bool write_file(const struct lab *lab, const char *name, const char *text, size_t bytes)
{
    int fd = open(netlab_file(lab->folder, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    bool good = fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes;
    if (fd >= 0) {
        close(fd);
    }
    return good;
}

// Until this process and the hosts have ended.
static bool lock_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && flock(fd, LOCK_EX) == 0;
}

static int make_folder(struct lab *lab)
{
    char self[256] = "";
    char hosts[1024] = "127.0.0.1 localhost\n";
    char uuid[37] = "";
    snprintf(lab->folder, sizeof lab->folder, "%s/%s%d", folder_of_labs(), prefix, (int)getpid());
    bool good = readlink("/proc/self/exe", self, sizeof self - 1) > 0 &&
                mkdir(lab->folder, 0700) == 0 && lock_folder(lab->folder) &&
                mkdir(netlab_file(lab->folder, "sys"), 0700) == 0 &&
                symlink(self, netlab_file(lab->folder, "rsh")) == 0 &&
                symlink(self, netlab_file(lab->folder, "netlab")) == 0 &&
                write_file(lab, "cables", (char[NETLAB_HOSTS]){0}, (size_t)lab->hosts) &&
                (lab->wire || write_file(lab, "bridge", "", 0));
    for (int i = 0; i < lab->hosts && good; i++) {
        char name[32];
        size_t used = strlen(hosts);
        snprintf(hosts + used, sizeof hosts - used, "10.77.0.%d tn%d\n", i + 1, i);
        int fd = open("/proc/sys/kernel/random/uuid", O_RDONLY | O_CLOEXEC);
        snprintf(name, sizeof name, "tn%d.boot_id", i);
        good = fd >= 0 && read(fd, uuid, 37) == 37 && write_file(lab, name, uuid, 37);
        if (fd >= 0) {
            close(fd);
        }
    }
    if (!good || !write_file(lab, "hosts", hosts, strlen(hosts))) {
        fprintf(stderr, "netlab: cannot make %s: %s\n", lab->folder, strerror(errno));
        return 1;
    }
    return 0;
}

// Another user than root has a user namespace in which it is root.
static int become_root(void)
{
    if (geteuid() == 0) {
        return 0;
    }
    char map[3][32] = {"deny"};
    snprintf(map[1], sizeof map[1], "0 %d 1", (int)geteuid());
    snprintf(map[2], sizeof map[2], "0 %d 1", (int)getegid());
    static const char *const files[] = {"setgroups", "uid_map", "gid_map"};
    bool good = unshare(CLONE_NEWUSER) == 0;
    for (int i = 0; i < 3 && good; i++) {
        int fd = open(netlab_file("/proc/self", files[i]), O_WRONLY | O_CLOEXEC);
        good = fd >= 0 && write(fd, map[i], strlen(map[i])) > 0;
        if (fd >= 0) {
            close(fd);
        }
    }
    if (!good) {
        fprintf(stderr, "netlab: this user is not root, and may have no user namespace: %s\n",
                strerror(errno));
        return NETLAB_SKIP;
    }
    return 0;
}

static int watch_for_the_end(pid_t owner, struct wire *wire)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    wire->ends[0] = signalfd(-1, &ends, SFD_CLOEXEC);
    wire->ends[1] = owner > 0 ? (int)syscall(SYS_pidfd_open, owner, 0) : -1;
    if (wire->ends[0] < 0 || (owner > 0 && wire->ends[1] < 0)) {
        fprintf(stderr, "netlab: process %d, which the lab is for: %s\n", (int)owner,
                strerror(errno));
        return 1;
    }
    return 0;
}

static const volatile uint8_t *map_cables(const struct lab *lab)
{
    int fd = open(netlab_file(lab->folder, "cables"), O_RDONLY | O_CLOEXEC);
    void *mapped = fd >= 0 ? mmap(NULL, NETLAB_HOSTS, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) {
        close(fd);
    }
    return mapped != MAP_FAILED ? mapped : NULL;
}

// Frames are late when the switch is: where processors are shared, it is before others, with
// short slices. A user who is not root gets the slices alone, an old kernel gives neither; then
// it is slower.
static void ask_for_early_turns(void)
{
    struct {
        uint32_t size;
        uint32_t policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice_ns;
        uint64_t deadline_ns;
        uint64_t period_ns;
    } turns = {.size = sizeof turns, .nice = -10, .slice_ns = 100000};
    if (syscall(SYS_sched_setattr, 0, &turns, 0) != 0) {
        turns.nice = 0;
        (void)syscall(SYS_sched_setattr, 0, &turns, 0);
    }
}

// Says the folder at `said` when all is there, and lives until the end.
static int keep(struct lab *lab, pid_t owner, int said)
{
    struct wire wire = {0};
    setsid();
    signal(SIGPIPE, SIG_IGN);
    int status = watch_for_the_end(owner, &wire);
    if (status == 0) {
        status = become_root();
    }
    if (status == 0) {
        status = make_folder(lab);
    }
    for (int i = 0; i < lab->hosts && status == 0; i++) {
        status = netlab_host(lab, i);
    }
    if (status == 0) {
        status = netlab_connect(lab, &wire);
    }
    wire.cables = status == 0 ? map_cables(lab) : NULL;
    if (wire.cables != NULL && write(said, lab->folder, strlen(lab->folder)) > 0) {
        close(said);
        dup2(0, 1);
        dup2(0, 2);
        if (lab->wire) {
            ask_for_early_turns();
        }
        netlab_switch(&wire);
    }
    for (int i = 0; i < lab->hosts; i++) {
        if (lab->init[i] > 0) {
            kill(lab->init[i], SIGKILL);
            waitpid(lab->init[i], NULL, 0);
        }
    }
    if (lab->folder[0] != '\0') {
        remove_folder(lab->folder);
    }
    return status;
}

static int make(struct lab *lab, pid_t owner)
{
    char folder[sizeof lab->folder] = "";
    int said[2];
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    sweep();
    if (null < 0 || pipe2(said, O_CLOEXEC) != 0) {
        fprintf(stderr, "netlab: %s\n", strerror(errno));
        return 1;
    }
    pid_t keeper = fork();
    if (keeper == 0) {
        close(said[0]);
        dup2(null, 0);
        dup2(null, 1); // who reads the folder's name does not wait for the keeper
        _exit(keep(lab, owner, said[1]));
    }
    close(said[1]);
    close(null);
    ssize_t got = read(said[0], folder, sizeof folder - 1);
    if (keeper < 0 || got <= 0) {
        int status = 0;
        waitpid(keeper, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : 1;
    }
    printf("%s\n", folder);
    return 0;
}

static int down(const char *folder)
{
    int pid = atoi(strrchr(folder, '.') + 1);
    if (pid <= 1 || kill(pid, SIGTERM) != 0) {
        fprintf(stderr, "netlab: there is no keeper of %s: %s\n", folder, strerror(errno));
        return 1;
    }
    for (int i = 0; i < 500 && access(folder, F_OK) == 0; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    return access(folder, F_OK) == 0;
}

static int left(const char *folder, const char *only)
{
    static const char script[] =
        "s=0; for p in /proc/[0-9]*; do n=${p#/proc/}; [ $n = 1 ] || [ $n = $$ ] || "
        "{ c=$(tr '\\0' ' ' <$p/cmdline) 2>/dev/null && [ -n \"$c\" ] && s=1 && "
        "echo \"$(hostname): process $n: $c\"; }; done; for f in /dev/shm/*; do [ ! -e \"$f\" ] || "
        "{ s=1; echo \"$(hostname): file $f\"; }; done; exit $s";
    int status = 0;
    struct stat cables = {0};
    if (stat(netlab_file(folder, "cables"), &cables) != 0) {
        fprintf(stderr, "netlab: there is no lab in %s\n", folder);
        return 1;
    }
    for (int i = 0; i < (int)cables.st_size; i++) {
        char host[16];
        snprintf(host, sizeof host, "tn%d", i);
        if (only == NULL || strcmp(only, host) == 0) {
            int said = netlab_rsh(folder, host, script);
            status = said != 0 ? said : status;
        }
    }
    return status;
}

static int flap(const char *folder, const char *host, const char *ms, const char *times)
{
    int64_t ns = (int64_t)atoi(ms) * 1000000;
    struct timespec each = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    int status = 0;
    for (int i = 0; i < atoi(times) && status == 0; i++) {
        status = netlab_cable(folder, host, CUT_FROM | CUT_TO, true);
        nanosleep(&each, NULL);
        status = netlab_cable(folder, host, CUT_FROM | CUT_TO, false) != 0 ? 1 : status;
        nanosleep(&each, NULL);
    }
    return status;
}

static int in_lab(const char *folder, int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    const char *host = argc > 2 ? argv[2] : NULL;
    bool cut = strcmp(verb, "cut") == 0;
    if ((cut || strcmp(verb, "mend") == 0) && host != NULL) {
        const char *way = argc > 3 ? argv[3] : "";
        int bits = strcmp(way, "from") == 0 ? CUT_FROM
                   : strcmp(way, "to") == 0 ? CUT_TO
                                            : CUT_FROM | CUT_TO;
        return netlab_cable(folder, host, bits, cut);
    }
    if (strcmp(verb, "flap") == 0 && argc == 5) {
        return flap(folder, host, argv[3], argv[4]);
    }
    // All but the host's first process, which goes on taking commands, and the one that says it.
    if (strcmp(verb, "stop") == 0 && host != NULL) {
        return netlab_rsh(folder, host, "kill -STOP -1 2>/dev/null || :");
    }
    if (strcmp(verb, "go") == 0 && host != NULL) {
        return netlab_rsh(folder, host, "kill -CONT -1 2>/dev/null || :");
    }
    if (strcmp(verb, "left") == 0) {
        return left(folder, host);
    }
    if (strcmp(verb, "down") == 0) {
        return down(folder);
    }
    fputs(usage, stderr);
    return 2;
}

int main(int argc, char **argv)
{
    char folder[256];
    snprintf(folder, sizeof folder, "%s", (const char *)(uintptr_t)getauxval(AT_EXECFN));
    char *slash = strrchr(folder, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    if (slash != NULL && strcmp(slash + 1, "rsh") == 0) {
        return netlab_agent(folder, argc, argv);
    }
    if (strstr(folder, prefix) != NULL) {
        return in_lab(folder, argc, argv);
    }
    pid_t owner = 0;
    if (argc > 2 && strcmp(argv[1], "--for") == 0) {
        owner = (pid_t)atoi(argv[2]);
        argc -= 2;
        argv += 2;
    }
    struct lab lab = {.hosts = argc > 2 ? atoi(argv[2]) : 0};
    lab.wire = argc == 5 && strcmp(argv[1], "wire") == 0;
    if (lab.wire) {
        lab.gbit = strtod(argv[3], NULL);
        lab.delay_us = strtod(argv[4], NULL);
    } else if ((argc == 3 || argc == 4) && strcmp(argv[1], "up") == 0) {
        lab.rate = argc == 4 ? argv[3] : NULL;
    } else {
        lab.hosts = 0;
    }
    if (lab.hosts < 1 || lab.hosts > NETLAB_HOSTS || lab.gbit < 0 || lab.delay_us < 0) {
        fputs(usage, stderr);
        return 2;
    }
    return make(&lab, owner);
}
