// SPDX-License-Identifier: Apache-2.0
// The launcher: what a rank finds, exit statuses and their sentences, wrong usage, and what
// tern_launch gives back to its caller. How jobs are ended is in launch_end.c, labels are in
// launch_label.c.

#include "launch_run.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "tern/coll.h"
#include "tern/comm.h"
#include "tern/launch.h"

static void usage_is_one_sentence_and_exit_2(void **state)
{
    static const char *const wrong[][5] = {
        {"run"},
        {"run", "true"},
        {"run", "-n", "2"},
        {"run", "-n"},
        {"run", "-n", "0", "true"},
        {"run", "-n", "65", "true"},
        {"run", "-n", "-1", "true"},
        {"run", "-n", "2x", "true"},
        {"run", "-n", " 2", "true"},
        {"run", "-n", "99999999999", "true"},
        {"run", "--no-such", "true"},
        {"run", "-xn", "2", "true"},
        {"run", "-n2", "--label=yes", "true"},
        {"run", "-n2", "--timeout"},
        {"run", "-n2", "--timeout=0", "true"},
        {"run", "-n2", "--timeout=-1", "true"},
        {"run", "-n2", "--timeout=nan", "true"},
        {"run", "-n2", "--timeout=1e3", "true"},
        {"run", "-n2", "--timeout=1.2.3", "true"},
        {"run", "-np"},
        {"run", "-np", "x", "true"},
        {"run", "-n2", "--bind", "socket", "true"},
        {"no-such-command"},
        {NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char *args[ARGS_MAX] = {(char *)"tern"};
        for (int j = 0; j < 5; j++) {
            args[j + 1] = (char *)wrong[i][j];
        }
        struct setting setting = {0};
        struct run run = start_tern_list(&setting, args);
        end_tern(&run);
        assert_int_equal(run.status, 2);
        size_t length;
        char *err = read_all(run.err, &length);
        assert_int_equal(strncmp(err, "tern", 4), 0);
        assert_ptr_equal(strchr(err, '\n'), err + length - 1);
        free(err);
        close_run(&run);
    }
}

static void help_and_version_go_to_standard_output(void **state)
{
    struct setting setting = {0};
    struct run run = START(&setting, "run", "--help");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    char *out = read_all(run.out, NULL);
    assert_non_null(strstr(out, "usage: tern run -n N"));
    free(out);
    close_run(&run);
    char version[64];
    snprintf(version, sizeof version, "tern %d.%d.%d\n", TERN_VERSION_MAJOR, TERN_VERSION_MINOR,
             TERN_VERSION_PATCH);
    EXPECT(0, version, "", "--version");
}

static void every_rank_runs_once(void **state)
{
    static const int counts[] = {1, 2, 3, 5, 8, 16, 64};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char count[16];
        snprintf(count, sizeof count, "%d", counts[i]);
        struct setting setting = {0};
        struct run run = START(&setting, "run", "-n", count, "sh", "-c",
                               "echo ${#TERN_TOKEN}:$TERN_NRANKS:$TERN_RANK.");
        end_tern(&run);
        assert_int_equal(run.status, 0);
        char *out = read_all(run.out, NULL);
        size_t expected_length = 0;
        for (int rank = 0; rank < counts[i]; rank++) {
            char line[64];
            snprintf(line, sizeof line, "32:%d:%d.\n", counts[i], rank);
            assert_non_null(strstr(out, line));
            expected_length += strlen(line);
        }
        assert_int_equal(strlen(out), expected_length);
        free(out);
        close_run(&run);
    }
}

static void every_rank_joins_and_passes_a_barrier(void **state)
{
    static const char *const counts[] = {"1", "2", "3", "5", "8", "16", "64"};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        EXPECT(0, "", "", "run", "-n", (char *)counts[i], (char *)self_path(), "rank", "barrier");
    }
}

static void stale_variables_are_replaced(void **state)
{
    setenv("TERN_RANK", "7", 1);
    setenv("TERN_NRANKS", "9", 1);
    setenv("TERN_TOKEN", "stale", 1);
    setenv("TERN_HUB_FD", "1", 1);
    EXPECT(0, "0 1 1\n0\n", "", "run", "-n", "1", "sh", "-c",
           ("echo $TERN_RANK $TERN_NRANKS $(env | grep -c ^TERN_TOKEN);"
            "env | grep -c -e ^TERN_TOKEN=stale -e ^TERN_HUB_FD=1$; true"));
    unsetenv("TERN_RANK");
    unsetenv("TERN_NRANKS");
    unsetenv("TERN_TOKEN");
    unsetenv("TERN_HUB_FD");
}

static void programs_of_pytorch_find_their_place(void **state)
{
    static char finds[] = "[ $RANK$LOCAL_RANK = $TERN_RANK$TERN_RANK ] && "
                          "[ $WORLD_SIZE = 3 ] && [ $MASTER_PORT -gt 0 ] && "
                          "echo $MASTER_ADDR";
    EXPECT(0, "127.0.0.1\n127.0.0.1\n127.0.0.1\n", "", "run", "-n", "3", "sh", "-c", finds);
    setenv("RANK", "5", 1);
    setenv("MASTER_PORT", "7", 1);
    EXPECT(0, "5 7 0\n", "", "run", "-n", "1", "sh", "-c", "echo $RANK $MASTER_PORT $LOCAL_RANK");
    setenv("TERN_RANK", "5", 1); // of an outer `tern run`
    EXPECT(0, "0\n", "", "run", "-n", "1", "sh", "-c", "[ $MASTER_PORT != 7 ] && echo $RANK");
    unsetenv("TERN_RANK");
    unsetenv("MASTER_PORT");
    unsetenv("RANK");
}

static void a_rank_inherits_only_the_hub_descriptor(void **state)
{
    EXPECT(0, "1 more, the hub's\n", "", "run", "-n", "1", (char *)self_path(), "rank", "fds");
    EXPECT(0, "[0] 1 more, the hub's\n", "", "run", "-n", "1", "--label", (char *)self_path(),
           "rank", "fds");
}

// Signals 1 to 31 of a line of /proc/PID/status; what lies above belongs to the C library.
static unsigned long long signal_mask(const char *text, const char *key)
{
    unsigned long long mask = 0;
    const char *line = strstr(text, key);
    assert_non_null(line);
    assert_int_equal(sscanf(line + strlen(key), ": %llx", &mask), 1);
    return mask & 0x7fffffff;
}

static void a_rank_finds_signals_as_they_were(void **state)
{
    int own_status = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    char before[8192] = "";
    assert_true(read(own_status, before, sizeof before - 1) > 0);
    close(own_status);
    struct setting setting = {.ignored = SIGHUP};
    struct run run =
        START(&setting, "run", "-n", "1", "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status");
    end_tern(&run);
    char *text = read_all(run.out, NULL);
    assert_int_equal(signal_mask(text, "SigBlk"), 0);
    assert_int_equal(signal_mask(text, "SigIgn"),
                     signal_mask(before, "SigIgn") | 1u << (SIGHUP - 1));
    free(text);
    close_run(&run);
}

static void arguments_and_statuses_pass_through(void **state)
{
    EXPECT(0, "a b|-n|--|\n", "", "run", "-n", "1", "--", "sh", "-c",
           "for x; do printf '%s|' \"$x\"; done; echo", "sh", "a b", "-n", "--");
    EXPECT(3, "", "tern run: rank 1 exited with status 3\n", "run", "-n", "2", "sh", "-c",
           "[ $TERN_RANK = 0 ] || exit 3");
    EXPECT(255, "", "tern run: rank 0 exited with status 255\n", "run", "-n", "1", "sh", "-c",
           "exit 255");
}

static void the_first_failure_is_reported(void **state)
{
    EXPECT(137, "", "tern run: rank 1 was killed by signal 9 (Killed)\n", "run", "-n", "3", "sh",
           "-c", "[ $TERN_RANK != 1 ] || kill -9 $$; sleep 1000");
    EXPECT(139, "", "tern run: rank 0 was killed by signal 11 (Segmentation fault)\n", "run", "-n",
           "1", "sh", "-c", "kill -SEGV $$");
    // The others fail when rank 2, which on a busy machine may begin last, is at its end.
    char folder[] = "/tmp/tern-test-first-XXXXXX";
    char there[64];
    assert_non_null(mkdtemp(folder));
    snprintf(there, sizeof there, "%s/there", folder);
    static char fails[] = "[ $TERN_RANK != 2 ] || { : >$0; exit 4; }; "
                          "until [ -e $0 ]; do sleep 0.01; done; sleep 0.2; exit 5";
    EXPECT(4, "", "tern run: rank 2 exited with status 4\n", "run", "-n", "3", "sh", "-c", fails,
           there);
    unlink(there);
    rmdir(folder);
}

// The launcher is stopped until all ranks have ended, so that it finds them all at once.
static void await_culprit_among_many(struct run *run, const char *sentence, int status)
{
    await_output(run, "ready\n", 4);
    kill(run->pid, SIGSTOP);
    for (int i = 0; i < 1000 && count_marked(run->mark) > 2; i++) {
        sleep_ms(5);
    }
    kill(run->pid, SIGCONT);
    end_tern(run);
    assert_output(run, "ready\nready\nready\nready\n", sentence);
    assert_int_equal(run->status, status);
    close_run(run);
}

static void a_killed_rank_comes_before_failed_ones(void **state)
{
    struct setting setting = {0};
    struct run run = START(&setting, "run", "-n", "4", "sh", "-c",
                           ("echo ready; [ $TERN_RANK = 2 ] || { sleep 0.3; exit 1; };"
                            "sleep 0.2; kill -9 $$"));
    await_culprit_among_many(&run, "tern run: rank 2 was killed by signal 9 (Killed)\n", 137);
}

static void the_rank_that_others_blame_comes_first(void **state)
{
    struct setting setting = {0};
    setenv("TERN_LOG", "off", 1);
    struct run run = START(&setting, "run", "-n", "4", (char *)self_path(), "rank", "quit");
    unsetenv("TERN_LOG");
    await_culprit_among_many(&run, "tern run: rank 3 exited with status 5\n", 5);
}

static void a_rank_must_not_leave_without_destroy(void **state)
{
    EXPECT(1, "", "tern run: rank 0 ended without tern_comm_destroy\n", "run", "-n", "1",
           (char *)self_path(), "rank", "desert");
}

// A buffer that is not there: the sentence has the call, from the rank's record of it.
static void a_crash_in_a_call_names_the_call(void **state)
{
    struct setting setting = {0};
    struct run run = START(&setting, "run", "-n", "2", (char *)self_path(), "rank", "crash");
    end_tern(&run);
    char *err = read_all(run.err, NULL);
    assert_non_null(strstr(err, "tern run: rank 1 was killed by signal 11 (Segmentation fault) in "
                                "tern_all_reduce (call 1, 4000 bytes)\n"));
    assert_int_equal(run.status, 128 + SIGSEGV);
    free(err);
    close_run(&run);
}

// Rank 0 leaves, rank 1 gets errors that it does not look at.
static void a_failure_that_nobody_looks_at_is_told(void **state)
{
    static const char *const levels[] = {NULL, "off"};
    for (size_t i = 0; i < 2; i++) {
        struct setting setting = {0};
        if (levels[i] != NULL) {
            setenv("TERN_LOG", levels[i], 1);
        }
        struct run run = START(&setting, "run", "-n", "2", (char *)self_path(), "rank", "careless");
        unsetenv("TERN_LOG");
        end_tern(&run);
        char *err = read_all(run.err, NULL);
        const char *last =
            strstr(err, "tern run: all ranks ended with status 0, but communicator 0 "
                        "has failed: rank 0 has left the communicator");
        assert_non_null(last);
        assert_int_equal(last == err, levels[i] != NULL); // TERN_LOG=error: a line before it
        assert_int_equal(run.status, 123);
        free(err);
        close_run(&run);
    }
}

// Rank 1 stops after the communicator has failed; the others have ended well.
static void a_rank_that_stays_after_a_failure_is_told(void **state)
{
    struct setting setting = {0};
    setenv("TERN_LOG", "off", 1);
    struct run run = START(&setting, "run", "-n", "3", (char *)self_path(), "rank", "stay");
    unsetenv("TERN_LOG");
    char *err = read_all(run.err, NULL);
    for (int i = 0; i < RUN_DEADLINE_MS / 5 && strchr(err, '\n') == NULL; i++) {
        free(err);
        sleep_ms(5);
        err = read_all(run.err, NULL);
    }
    assert_non_null(strstr(err, "tern run: communicator 0 has failed: rank "));
    assert_non_null(strstr(err, " has left the communicator (tern_comm_destroy), so "));
    assert_non_null(strstr(err, "; tern run goes on waiting: rank 1 is stopped (process "));
    free(err);
    kill(run.pid, SIGINT);
    kill(run.pid, SIGINT);
    end_tern(&run);
    close_run(&run);
}

static void wrong_words_get_a_suggestion(void **state)
{
    EXPECT(2, "",
           "tern: there is no command 'rnu' (did you mean 'run'?); 'tern --help' lists them\n",
           "rnu");
    EXPECT(2, "", "tern: there is no command 'fly'; 'tern --help' lists them\n", "fly");
    EXPECT(2, "",
           "tern: there is no command 'rnu' (did you mean 'run'?); 'tern --help' lists them\n",
           "help", "rnu");
    EXPECT(2, "",
           "tern: there is no option '--vesion' (did you mean '--version'?); see 'tern --help'\n",
           "--vesion");
    EXPECT(2, "",
           "tern plan: 'allreduce' is no kind of collective; there are all_reduce, reduce_scatter, "
           "all_gather, broadcast, all_to_all, barrier, reduce, gather, scatter (did you mean "
           "'all_reduce'?); see 'tern plan --help'\n",
           "plan", "allreduce");
    EXPECT(
        2, "",
        "tern perf: there is no algorithm 'psuh' for scatter; there are direct, push, one, optimal "
        "(did you mean 'push'?)\n",
        "perf", "scatter", "-p", "2", "--algo", "psuh");
    EXPECT(
        2, "",
        "tern run: there is no option '--lable' (did you mean '--label'?); see 'tern run --help'\n",
        "run", "--lable", "-n", "2", "true");
    EXPECT(2, "",
           "tern run: there is no option '--timout=3' (did you mean '--timeout'?); see 'tern run "
           "--help'\n",
           "run", "--timout=3", "-n", "2", "true");
    EXPECT(2, "", "tern run: there is no option '--zebra'; see 'tern run --help'\n", "run",
           "--zebra");
    EXPECT(2, "",
           "tern perf: there is no option '--inplace' (did you mean '--in-place'?); see 'tern perf "
           "--help'\n",
           "perf", "--inplace", "all_reduce");
    EXPECT(127, "",
           "tern run: cannot find the program 'test_boot_launch'; did you mean '" TERN_BUILD_DIR
           "/bin/test_boot_launch'?\n",
           "run", "-n", "2", "test_boot_launch");
    static char tren[] = TERN_BUILD_DIR "/bin/tren";
    EXPECT(127, "",
           "tern run: cannot find the program '" TERN_BUILD_DIR
           "/bin/tren'; did you mean '" TERN_BUILD_DIR "/bin/tern'?\n",
           "run", "-n", "2", tren);
    EXPECT(127, "", "tern run: cannot find the program './zebra'\n", "run", "-n", "2", "./zebra");
    EXPECT(
        1, "",
        "tern plan: 'rign:4' is no topology; there are mesh:N, ring:N, torus:AxB, cube:D, switch:N, hosts:HxN, "
        "machines:HxN, random:N,SEED, this, FILE.json and the presets 910b, 910b-raw, 910b-2x8, a3-8x2, "
        "910b-4x8, a3-pod, a100-8, h100-8, h100-4x8, mi300x-8 (did you mean 'ring:4'?)\n",
        "plan", "all_reduce", "--topo", "rign:4", "--bytes", "64");
}

static void bound_ranks_take_the_processors_in_turn(void **state)
{
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int count = CPU_COUNT(&allowed);
    struct setting setting = {0};
    char nranks[16];
    snprintf(nranks, sizeof nranks, "%d", count < 60 ? count + 2 : 3);
    struct run run = START(&setting, "run", "-np", nranks, "--bind", "core", "--label", "sh", "-c",
                           "taskset -cp $$ | sed 's/.*: //'");
    end_tern(&run);
    assert_int_equal(run.status, 0);
    char *out = read_all(run.out, NULL);
    int rank = 0;
    for (size_t cpu = 0; rank < atoi(nranks); cpu = (cpu + 1) % CPU_SETSIZE) {
        if (CPU_ISSET(cpu, &allowed)) {
            char line[64];
            snprintf(line, sizeof line, "[%d] %zu\n", rank++, cpu);
            assert_non_null(strstr(out, line));
        }
    }
    free(out);
    close_run(&run);
}

static void programs_that_cannot_run(void **state)
{
    char path[256];
    snprintf(path, sizeof path, "%s/launch-test-%d", TERN_BUILD_DIR, getpid());
    char sentence[512];
    EXPECT(127, "", "tern run: cannot find the program 'no-such-program'\n", "run", "-n", "3",
           "no-such-program");
    EXPECT(127, "", "tern run: cannot find the program './no/such'\n", "run", "-n", "3",
           "./no/such");
    EXPECT(126, "", "tern run: cannot execute '/': Is a directory\n", "run", "-n", "3", "/");

    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "#!/no/such/shell\n", 17), 17);
    close(fd);
    snprintf(sentence, sizeof sentence, "tern run: cannot execute '%s': Permission denied\n", path);
    EXPECT(126, "", sentence, "run", "-n", "3", path);
    chmod(path, 0700);
    snprintf(sentence, sizeof sentence,
             "tern run: cannot execute '%s': its interpreter is missing\n", path);
    EXPECT(126, "", sentence, "run", "-n", "3", path);
    unlink(path);
}

// PATH may name folders of another user. Root may look into every folder, but into no link to
// itself.
static void folders_that_cannot_be_looked_into_are_passed_over(void **state)
{
    char locked[256], loop[256], path[600];
    snprintf(locked, sizeof locked, "%s/launch-locked-%d", TERN_BUILD_DIR, getpid());
    snprintf(loop, sizeof loop, "%s/launch-loop-%d", TERN_BUILD_DIR, getpid());
    assert_int_equal(mkdir(locked, 0), 0);
    assert_int_equal(symlink(loop, loop), 0);
    snprintf(path, sizeof path, "%s:%s", locked, loop);
    const char *path_before = getenv("PATH");
    char *before = strdup(path_before != NULL ? path_before : "");
    assert_non_null(before);
    setenv("PATH", path, 1);
    EXPECT(127, "", "tern run: cannot find the program 'no-such-program'\n", "run", "-n", "2",
           "no-such-program");
    snprintf(path, sizeof path, "%s:%s:%s", locked, loop, before);
    setenv("PATH", path, 1);
    EXPECT(0, "", "", "run", "-n", "2", "true");
    setenv("PATH", before, 1);
    free(before);
    rmdir(locked);
    unlink(loop);
}

static void only_rank_0_reads_standard_input(void **state)
{
    int in = memfd_create("in", MFD_CLOEXEC);
    assert_int_equal(write(in, "words\n", 6), 6);
    lseek(in, 0, SEEK_SET);
    struct setting setting = {.in = in};
    struct run run = START(&setting, "run", "-n", "3", "--label", "cat");
    end_tern(&run);
    assert_output(&run, "[0] words\n", "");
    close_run(&run);
    close(in);
}

static int count_open_fds(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    return count;
}

static void on_signal(int number)
{
    (void)number;
}

static void the_function_gives_everything_back(void **state)
{
    struct sigaction mine = {.sa_handler = on_signal};
    sigaction(SIGCHLD, &mine, NULL);
    sigaction(SIGPIPE, &mine, NULL);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    int nfds = count_open_fds();

    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"setsid sleep 1000 & exit 6", NULL};
    tern_launch_options options = {.nranks = 3, .argv = argv, .label = true};
    int exit_status = -1;
    assert_int_equal(tern_launch(&options, &exit_status), TERN_OK);
    assert_int_equal(exit_status, 6);

    assert_int_equal(count_open_fds(), nfds);
    struct sigaction now;
    sigaction(SIGCHLD, NULL, &now);
    assert_true(now.sa_handler == on_signal);
    sigaction(SIGPIPE, NULL, &now);
    assert_true(now.sa_handler == on_signal);
    sigset_t mask_now;
    sigprocmask(SIG_SETMASK, NULL, &mask_now);
    for (int number = 1; number < NSIG; number++) {
        assert_int_equal(sigismember(&mask_now, number), number == SIGUSR2);
    }
    int subreaper = -1;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    assert_int_equal(subreaper, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
}

static void the_function_spares_earlier_children(void **state)
{
    pid_t earlier = fork();
    if (earlier == 0) {
        pause();
        _exit(0);
    }
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)"sleep 1000 & true", NULL};
    tern_launch_options options = {.nranks = 2, .argv = argv};
    int exit_status = -1;
    assert_int_equal(tern_launch(&options, &exit_status), TERN_OK);
    assert_int_equal(exit_status, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
    kill(earlier, SIGKILL);
    assert_int_equal(waitpid(earlier, NULL, 0), earlier);
}

static void the_function_checks_its_arguments(void **state)
{
    char *const argv[] = {(char *)"true", NULL};
    char *const empty[] = {NULL};
    int exit_status = 77;
    tern_launch_options wrong[] = {
        {.nranks = 0, .argv = argv},  {.nranks = TERN_RANKS_MAX + 1, .argv = argv},  {.nranks = 1},
        {.nranks = 1, .argv = empty}, {.nranks = 1, .argv = argv, .timeout_ns = -1},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tern_launch(&wrong[i], &exit_status), TERN_ERR_ARG);
        assert_true(strlen(tern_last_error()) > 0);
    }
    assert_int_equal(tern_launch(NULL, &exit_status), TERN_ERR_ARG);
    assert_int_equal(exit_status, 77);
    tern_launch_options right = {.nranks = 1, .argv = argv};
    assert_int_equal(tern_launch(&right, NULL), TERN_ERR_ARG);
}

// What this program does as a rank.

static int rank_fds(void)
{
    int count = 0;
    for (int fd = 3; fd < 1024; fd++) {
        count += fcntl(fd, F_GETFD) >= 0;
    }
    int hub = atoi(getenv("TERN_HUB_FD"));
    printf("%d more%s\n", count, fcntl(hub, F_GETFD) >= 0 ? ", the hub's" : "");
    return 0;
}

static int rank_joined(const char *mode)
{
    tern_comm *world;
    if (tern_init(NULL, &world) != TERN_OK) {
        fprintf(stderr, "%s\n", tern_last_error());
        return 9;
    }
    int rank = tern_comm_rank(world);
    int status = tern_comm_barrier(world);
    if (strcmp(mode, "desert") == 0) {
        _exit(0);
    }
    if (strcmp(mode, "crash") == 0) {
        static float numbers[1000];
        signal(SIGSEGV, SIG_DFL);
        void *nothing = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        status = tern_all_reduce(world, rank == 1 ? nothing : numbers, numbers, 1000, TERN_F32,
                                 TERN_SUM);
    }
    if (strcmp(mode, "careless") == 0 && rank == 1) {
        int ignored = tern_comm_barrier(world);
        (void)ignored;
    }
    if (strcmp(mode, "stay") == 0 && rank != 0) { // which leaves
        int ignored = tern_comm_barrier(world);
        (void)ignored;
        status = rank == 1 ? raise(SIGSTOP) : TERN_OK;
    }
    if (strcmp(mode, "quit") == 0) {
        puts("ready");
        fflush(stdout);
        if (rank == 3) {
            sleep_ms(200);
            _exit(5);
        }
        status = tern_comm_barrier(world);
    }
    tern_comm_destroy(world);
    return status == TERN_OK ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0) {
        return strcmp(argv[2], "fds") == 0 ? rank_fds() : rank_joined(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usage_is_one_sentence_and_exit_2),
        cmocka_unit_test(help_and_version_go_to_standard_output),
        cmocka_unit_test(every_rank_runs_once),
        cmocka_unit_test(every_rank_joins_and_passes_a_barrier),
        cmocka_unit_test(stale_variables_are_replaced),
        cmocka_unit_test(programs_of_pytorch_find_their_place),
        cmocka_unit_test(a_rank_inherits_only_the_hub_descriptor),
        cmocka_unit_test(a_rank_finds_signals_as_they_were),
        cmocka_unit_test(arguments_and_statuses_pass_through),
        cmocka_unit_test(the_first_failure_is_reported),
        cmocka_unit_test(a_killed_rank_comes_before_failed_ones),
        cmocka_unit_test(the_rank_that_others_blame_comes_first),
        cmocka_unit_test(a_rank_must_not_leave_without_destroy),
        cmocka_unit_test(a_rank_that_stays_after_a_failure_is_told),
        cmocka_unit_test(a_crash_in_a_call_names_the_call),
        cmocka_unit_test(a_failure_that_nobody_looks_at_is_told),
        cmocka_unit_test(wrong_words_get_a_suggestion),
        cmocka_unit_test(bound_ranks_take_the_processors_in_turn),
        cmocka_unit_test(programs_that_cannot_run),
        cmocka_unit_test(folders_that_cannot_be_looked_into_are_passed_over),
        cmocka_unit_test(only_rank_0_reads_standard_input),
        cmocka_unit_test(the_function_gives_everything_back),
        cmocka_unit_test(the_function_spares_earlier_children),
        cmocka_unit_test(the_function_checks_its_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
