// SPDX-License-Identifier: Apache-2.0
// ctest-first
// Jobs on several machines: each entry of --hosts is one, also when all name this machine, which is
// what is done here; an agent that executes the command stands in for ssh. What a rank finds of the
// machines, how a job ends when something on any of them does, and that nothing is left then.

#include "launch_run.h"

#include "boot/join.h"
#include "boot/listen.h"
#include "support/random.h"
#include "support/sanitized.h"
#include "sync/group.h"
#include "sync/job.h"
#include "tern/launch.h"

#define AGENT (char *)"sh -c 'shift; exec \"$@\"' agent"
// In seconds: a busy machine is not silent.
#define PATIENCE "20"
// As an agent that stays between.
#define PARENT (char *)"sh -c 'shift; \"$@\"; exit $?' agent"

// What the exchange of other starts makes of the machines, every rank must find here.
static void check_machines(const struct tern__job *job)
{
    const struct tern__machines *machines = job->machines;
    if (machines == NULL) {
        assert_int_equal(job->here, UINT64_MAX >> (64 - job->nranks));
        return;
    }
    uint64_t all = 0;
    for (int i = 0; i < machines->count; i++) {
        const struct tern__machine *machine = &machines->list[i];
        assert_int_equal(all & machine->ranks, 0);
        assert_int_equal(machine->leader, __builtin_ctzll(machine->ranks));
        assert_true(machine->name[0] != '\0');
        all |= machine->ranks;
    }
    assert_int_equal(all, UINT64_MAX >> (64 - job->nranks));
    assert_int_equal(job->here, machines->list[machines->mine].ranks);
    assert_true(tern__job_is_here(job, job->rank));
    for (int rank = 0; rank < job->nranks; rank++) {
        assert_int_equal(machines->list[machines->of[rank]].ranks >> rank & 1, 1);
        assert_int_equal(job->outbox[rank] >= 0, tern__job_is_here(job, rank));
    }
}

// Every rank's listener is where the table says.
static void connect_to_all(const struct tern__job *job)
{
    for (int rank = 0; job->machines != NULL && rank < job->nranks; rank++) {
        const struct tern__address *address = &job->machines->address[rank];
        int fd = socket(address->length == 16 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (const struct sockaddr *)(const void *)address->bytes, address->length) !=
            0) {
            fail_msg("cannot connect to rank %d at %s", rank, tern__address_text(address).text);
        }
        close(fd);
    }
}

static void await_end(const struct tern__job *job, int rank)
{
    const struct tern__ctl_rank *slot = &job->ctl->ranks[rank];
    while (tern__flag_load(&slot->state) != TERN__RANK_DEAD ||
           tern__observe(&slot->ended) != TERN__END_STATUS) {
        sleep_ms(1);
    }
}

// "rank 3 of 5: a 0x3 *b 0x1c"
static void print_machines(const struct tern__job *job)
{
    char text[512];
    int used = snprintf(text, sizeof text, "rank %d of %d:", job->rank, job->nranks);
    for (int i = 0; job->machines != NULL && i < job->machines->count; i++) {
        const struct tern__machine *machine = &job->machines->list[i];
        used += snprintf(text + used, sizeof text - (size_t)used, " %s%s %#llx",
                         job->machines->mine == i ? "*" : "", machine->name,
                         (unsigned long long)machine->ranks);
    }
    printf("%s\n", text);
    fflush(stdout);
}

static void die_instead(int number)
{
    (void)number;
    raise(SIGKILL);
}

// What this program does as a rank.
static int act(const char *mode)
{
    struct tern__job *job;
    const char *rank = getenv("TERN_RANK");
    if (rank == NULL) {
        return 9; // started by hand
    }
    if (strcmp(mode, "early") == 0 && strcmp(rank, "2") == 0) {
        raise(SIGKILL);
    }
    if (strcmp(mode, "told") == 0 && strcmp(rank, "2") == 0) {
        signal(SIGTERM, die_instead);
    }
    if (strcmp(mode, "late") == 0 && strcmp(rank, "2") == 0) {
        sleep_ms(60000);
    }
    int status =
        tern__join_launched((strcmp(mode, "late") == 0 ? 8 : 60) * TERN_NS_PER_SECOND, &job);
    if (status != TERN_OK) {
        printf("rank %s: %s\n", rank, tern_last_error());
        return 7;
    }
    check_machines(job);
    if (strcmp(mode, "table") == 0) {
        print_machines(job);
        connect_to_all(job);
    } else if (strcmp(mode, "kill") == 0) {
        print_machines(job);
        if (job->rank == 2) {
            raise(SIGKILL);
        }
        char text[200];
        await_end(job, 2);
        tern__ctl_death_text(job->ctl, 2, text, sizeof text);
        printf("rank %s: %s\n", rank, text);
    } else if (strcmp(mode, "told") == 0) {
        if (job->rank == 0) { // has it from another machine, whose launcher will say it later
            tern__ctl_comm_fail(job->ctl, 0, TERN_ERR_PEER, 2, "rank 2 on machine b died");
            exit(9);
        }
        sleep_ms(60000);
    } else if (strcmp(mode, "hang") == 0) {
        printf("ready\n");
        fflush(stdout);
        sleep_ms(60000);
    }
    // Nobody leaves before all could connect.
    char *reader = getenv("TERN_TEST_WAITS");
    if (reader != NULL) {
        sleep_ms(atoi(reader));
    }
    tern__job_leave(job);
    return 0;
}

#define RUN(hosts, agent)                                                                          \
    (char *)"run", (char *)"--hosts", (char *)(hosts), (char *)"--agent", agent
#define SELF(mode) (char *)self_path(), (char *)"rank", (char *)(mode)

static char *const agents[] = {AGENT, PARENT};

static void every_rank_finds_the_machines(void **state)
{
    setenv("TERN_TEST_WAITS", "200", 1);
    for (int i = 0; i < 2; i++) {
        EXPECT(0, "rank 0 of 1:\n", "", RUN("localhost", agents[i]), SELF("table"));
        struct setting setting = {0};
        struct run run = START(&setting, RUN("a:2,b,a:3", agents[i]), SELF("table"));
        end_tern(&run);
        char *out = read_all(run.out, NULL);
        assert_non_null(strstr(out, "rank 0 of 6: *a 0x3 b 0x4 a#2 0x38\n"));
        assert_non_null(strstr(out, "rank 1 of 6: *a 0x3 b 0x4 a#2 0x38\n"));
        assert_non_null(strstr(out, "rank 2 of 6: a 0x3 *b 0x4 a#2 0x38\n"));
        assert_non_null(strstr(out, "rank 5 of 6: a 0x3 b 0x4 *a#2 0x38\n"));
        free(out);
        assert_int_equal(run.status, 0);
        close_run(&run);
    }
    unsetenv("TERN_TEST_WAITS");
}

// More at once than the head hears at once.
static void as_many_hosts_as_ranks(void **state)
{
    char hosts[TERN_RANKS_MAX * 4] = "";
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        size_t used = strlen(hosts);
        snprintf(hosts + used, sizeof hosts - used, "%sh", rank > 0 ? "," : "");
    }
    struct setting setting = {0};
    struct run run = START(&setting, RUN(hosts, AGENT), SELF("join"));
    end_with(&run, 0, "", "");
}

static void this_machine_needs_no_agent(void **state)
{
    EXPECT(0, "2\n", "", (char *)"run", (char *)"-n", (char *)"2", (char *)"--hosts",
           (char *)"localhost,[::1]:1", (char *)"sh", (char *)"-c",
           (char *)"[ $TERN_RANK = 0 ] || echo $TERN_NRANKS");
}

static void words_and_variables_arrive_as_they_are(void **state)
{
    setenv("LAUNCH_TEST_GIVEN", "of the head", 1);
    EXPECT(0, "1 a  b 'c' \"d\" $e\n | x=y z | of the head | /\n", "", RUN("a,b", AGENT),
           (char *)"--env", (char *)"LAUNCH_TEST_SET=x=y z", (char *)"--env",
           (char *)"LAUNCH_TEST_GIVEN", (char *)"sh", (char *)"-c",
           (char *)"[ $TERN_RANK = 0 ] || echo \"$TERN_RANK $1 | $LAUNCH_TEST_SET | "
                   "$LAUNCH_TEST_GIVEN | ${PWD%%[!/]*}\"",
           (char *)"sh", (char *)"a  b 'c' \"d\" $e\n");
    unsetenv("LAUNCH_TEST_GIVEN");
}

static void output_comes_to_the_head(void **state)
{
    EXPECT(0, "[2@b] out\n", "[2@b] err\n", RUN("a:2,b", AGENT), (char *)"--label", (char *)"sh",
           (char *)"-c", (char *)"[ $TERN_RANK != 2 ] || { echo out; echo err >&2; }");
    // More than pipes hold, and none of it is lost at the end.
    struct setting setting = {0};
    struct run run =
        START(&setting, RUN("a,b:2", PARENT), (char *)"sh", (char *)"-c", (char *)"seq 1 50000");
    end_tern(&run);
    size_t length;
    free(read_all(run.out, &length));
    assert_int_equal(length, 3 * 288894);
    close_run(&run);
}

static void standard_input_goes_to_rank_0(void **state)
{
    int fds[2];
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "one\ntwo\n", 8), 8);
    close(fds[1]);
    struct setting setting = {.in = fds[0]};
    struct run run = START(&setting, RUN("a:2,b", AGENT), (char *)"--label", (char *)"cat");
    close(fds[0]);
    end_with(&run, 0, "[0@a] one\n[0@a] two\n", "");
}

static void what_a_rank_does_is_reported(void **state)
{
    EXPECT(3, "", "tern run: rank 2 (on b#2) exited with status 3\n", RUN("a,b,b", AGENT),
           (char *)"sh", (char *)"-c", (char *)"[ $TERN_RANK != 2 ] || exit 3");
    struct setting setting = {0};
    struct run run = START(&setting, RUN("a:2,b:3", AGENT), SELF("kill"));
    end_tern(&run);
    char *out = read_all(run.out, NULL);
    int written = 0;
    for (int rank = 0; rank < 5; rank++) { // on both machines; a slow one may be ended before that
        char line[100];
        snprintf(line, sizeof line, "rank %d: rank 2%s was killed by signal 9 (Killed)\n", rank,
                 rank < 2 ? " on machine b" : "");
        size_t begin = strlen("rank 0: ");
        char *there = strstr(out, line);
        char *any = memmem(out, strlen(out), line, begin);
        if (there != any || (rank == 2 && any != NULL)) {
            fail_msg("'%s' is what all but rank 2 may write: %s", line, out);
        }
        written += there != NULL;
    }
    assert_true(written > 0);
    free(out);
    out = read_all(run.err, NULL);
    assert_string_equal(out, "tern run: rank 2 (on b) was killed by signal 9 (Killed)\n");
    free(out);
    assert_int_equal(run.status, 137);
    close_run(&run);
}

// Its end is heard of last, but the first one that ended said that it failed because of it.
static void who_is_blamed_is_reported(void **state)
{
    EXPECT(137, "", "tern run: rank 2 (on b) was killed by signal 9 (Killed)\n",
           RUN("a:2,b:3", AGENT), SELF("told"));
}

// Ranks but rank 2 write why they could not join; on a busy machine one may be ended before that.
// How many have written.
static int expect_no_job(const char *mode, int status, const char *why)
{
    struct setting setting = {0};
    struct run run = START(&setting, RUN("a:2,b:3", AGENT), SELF(mode));
    end_tern(&run);
    char *out = read_all(run.out, NULL);
    int written = 0;
    for (int rank = 0; rank < 5; rank++) {
        char begin[20];
        char line[200];
        snprintf(begin, sizeof begin, "rank %d: ", rank);
        snprintf(line, sizeof line, "%s%s\n", begin, why);
        bool right = strstr(out, line) != NULL;
        if (right ? rank == 2 : strstr(out, begin) != NULL) {
            fail_msg("rank %d says something else: %s", rank, out);
        }
        written += right;
    }
    free(out);
    assert_int_equal(run.status, status);
    close_run(&run);
    return written;
}

static void ranks_that_do_not_come_are_named_everywhere(void **state)
{
    int written = 0;
    for (int i = 0; i < 20 && written == 0; i++) {
        written = expect_no_job("early", 137,
                                "rank 2 was killed by signal 9 (Killed) before it joined the job");
    }
    assert_true(written > 0 ||
                SANITIZED); // under which a start takes longer than the others have then
    assert_true(expect_no_job("late", 7, "rank 2 (on b) did not come within 8 s") > 0);
}

static void hosts_that_cannot_be_started_are_named(void **state)
{
    // Host b alone.
    static const char script[] =
        "sh -c '[ $1 = a ] || { echo first >&2; echo no route >&2; exit 255; }; shift; exec "
        "\"$@\"' agent";
    EXPECT(125, "",
           "first\ntern run: cannot start host b (ranks 1-2): its agent ended with status 255: no "
           "route\n",
           RUN("a,b:2", (char *)script), (char *)"sleep", (char *)"60");
    EXPECT(125, "",
           "tern run: cannot start host b (rank 1): its agent ended with status 0: tern gone\n",
           RUN("a,b", (char *)"sh -c '[ $1 = a ] || { echo tern gone >&2; exit 0; }; shift; exec "
                              "\"$@\"' agent"),
           (char *)"sleep", (char *)"60");
    EXPECT(127, "", "tern run: host a (rank 0): cannot find the program './no/program'\n",
           RUN("a", AGENT), (char *)"./no/program");
    EXPECT(126, "", "tern run: host a (rank 0): cannot execute '/': Is a directory\n",
           RUN("a", AGENT), (char *)"/");
    setenv("TERN_TIMEOUT", "8", 1);
    struct setting setting = {0};
    struct run run =
        START(&setting,
              RUN("a,b", (char *)"sh -c '[ $1 = a ] || exec sleep 60; shift; exec \"$@\"' x"),
              (char *)"sleep", (char *)"60");
    unsetenv("TERN_TIMEOUT");
    end_tern(&run);
    char *err = read_all(run.err, NULL);
    assert_non_null(strstr(err, "tern run: cannot start host b (rank 1): its launcher has not"));
    assert_non_null(strstr(err, "within 8 s\n"));
    free(err);
    assert_int_equal(run.status, 125);
    close_run(&run);
}

static void wrong_words_have_a_sentence(void **state)
{
    static const struct {
        const char *hosts, *option, *value, *sentence;
    } cases[] = {
        {"", "--label", NULL, "--hosts needs a value, not ''"},
        {"a,,b", "--label", NULL, "which names no host"},
        {"a:0", "--label", NULL, "'a:0' has ':0' behind it"},
        {"a:x", "--label", NULL, "'a:x' has ':x' behind it"},
        {"a:65", "--label", NULL, "from 1 to 64"},
        {"a:64,b", "--label", NULL, "more than 64 ranks together"},
        {"::1", "--label", NULL, "stands in brackets"},
        {"[::1", "--label", NULL, "has no ']'"},
        {"-oProxyCommand=x", "--label", NULL, "begins with '-'"},
        {"a b", "--label", NULL, "a character that host names have not"},
        {"a:2", "-n", "3", "3 ranks are asked for, but the hosts have 2"},
        {"a:2", "--trace", "no/t.json", "cannot write no/t.json"},
        {"a:2", "--env", "NO_SUCH_VARIABLE_HERE", "'NO_SUCH_VARIABLE_HERE' is not set"},
        {"a:2", "--agent", "", "--agent needs a value, not ''"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct setting setting = {0};
        struct run run =
            cases[i].value != NULL
                ? START(&setting, (char *)"run", (char *)"--hosts", (char *)cases[i].hosts,
                        (char *)cases[i].option, (char *)cases[i].value, (char *)"true")
                : START(&setting, (char *)"run", (char *)"--hosts", (char *)cases[i].hosts,
                        (char *)cases[i].option, (char *)"true");
        end_tern(&run);
        char *err = read_all(run.err, NULL);
        if (strstr(err, cases[i].sentence) == NULL || run.status == 0) {
            fail_msg("'%s' says with status %d: %s", cases[i].hosts, run.status, err);
        }
        assert_ptr_equal(strchr(err, '\n') + 1, err + strlen(err));
        free(err);
        close_run(&run);
    }
    EXPECT(2, "", "tern run: --agent goes with --hosts LIST; see 'tern run --help'\n",
           (char *)"run", (char *)"-n1", (char *)"--agent", (char *)"x", (char *)"true");
    int status;
    char *nothing[] = {(char *)"true", NULL};
    tern_launch_options options = {.nranks = 1, .agent = "x", .argv = nothing};
    assert_int_equal(tern_launch(&options, &status), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "several hosts, and none is named"));
}

// The processes of a run: its branches, guardians, ranks, or all.
enum sort { BRANCH, GUARDIAN, RANK, ANY };

static int find_processes(const char *mark, enum sort sort, pid_t pids[256])
{
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    int count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9' || !has_mark(entry->d_name, mark)) {
            continue;
        }
        char path[300];
        char line[600] = "";
        snprintf(path, sizeof path, "/proc/%s/comm", entry->d_name);
        FILE *file = fopen(path, "re");
        bool guards = file != NULL && fgets(line, sizeof line, file) != NULL &&
                      strcmp(line, "tern-guardian\n") == 0;
        if (file != NULL) {
            fclose(file);
        }
        snprintf(path, sizeof path, "/proc/%s/cmdline", entry->d_name);
        file = fopen(path, "re");
        size_t length = file != NULL ? fread(line, 1, sizeof line - 1, file) : 0;
        if (file != NULL) {
            fclose(file);
        }
        enum sort found =
            guards ? GUARDIAN
            : memmem(line, length, "--branch", 9) != NULL &&
                    memmem(line, length, "sh\0-c", 5) == NULL
                ? BRANCH
            : memmem(line, length, "hang", 5) != NULL && memmem(line, length, "--hosts", 8) == NULL
                ? RANK
                : ANY;
        if ((found == sort || sort == ANY) && count < 256) {
            pids[count++] = atoi(entry->d_name);
        }
    }
    closedir(dir);
    return count;
}

// Starts five ranks that hang, and sends a signal to the last process of a sort.
static struct run start_and_signal(char *agent, enum sort sort, int number)
{
    struct setting setting = {0};
    struct run run = START(&setting, RUN("a:2,b:3", agent), SELF("hang"));
    pid_t pids[256];
    await_output(&run, "ready\n", 5);
    int count = find_processes(run.mark, sort, pids);
    assert_int_equal(count, sort == RANK ? 5 : 2);
    kill(pids[count - 1], number);
    return run;
}

static void expect_end(char *agent, enum sort sort, int number, int status, const char *sentence)
{
    struct run run = start_and_signal(agent, sort, number);
    end_tern(&run);
    char *err = read_all(run.err, NULL);
    if (strstr(err, sentence) == NULL) {
        fail_msg("does not say '%s': %s", sentence, err);
    }
    free(err);
    assert_int_equal(run.status, status);
    close_run(&run);
}

static void whatever_is_killed_ends_the_job(void **state)
{
    for (int i = 0; i < 2; i++) {
        expect_end(agents[i], RANK, SIGKILL, 137, " was killed by signal 9 (Killed)\n");
        expect_end(agents[i], BRANCH, SIGKILL, 137, " is lost: its agent ");
        expect_end(agents[i], BRANCH, SIGTERM, 143,
                   "its launcher was ended by signal 15 (Terminated)\n");
        expect_end(agents[i], GUARDIAN, SIGKILL, 137,
                   "ended because its guardian process was killed\n");
    }
}

static void a_silent_host_ends_the_job(void **state)
{
    setenv("TERN_NET_TIMEOUT", "2", 1);
    expect_end(PARENT, BRANCH, SIGSTOP, 137, ") has been silent for 2 s\n");
    setenv("TERN_NET_TIMEOUT", PATIENCE, 1);
}

static void nothing_survives_a_killed_head(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct setting setting = {0};
        struct run run = START(&setting, RUN("a:2,b:3", agents[i]), SELF("hang"));
        await_output(&run, "ready\n", 5);
        kill(run.pid, SIGKILL);
        await_tern(&run);
        await_none_left(run.mark);
        close_run(&run);
    }
}

static void a_stopped_head_is_not_waited_for(void **state)
{
    setenv("TERN_NET_TIMEOUT", "2", 1);
    struct setting setting = {0};
    struct run run = START(&setting, RUN("a:2,b:3", PARENT), SELF("hang"));
    pid_t pids[256];
    await_output(&run, "ready\n", 5);
    kill(run.pid, SIGSTOP);
    for (int64_t end_ns = tern__deadline_after(SOON_NS);
         find_processes(run.mark, RANK, pids) + find_processes(run.mark, BRANCH, pids) > 0;) {
        assert_true(tern__now_ns() < end_ns);
        sleep_ms(10);
    }
    kill(run.pid, SIGCONT);
    end_tern(&run);
    assert_int_equal(run.status, 137);
    close_run(&run);
    setenv("TERN_NET_TIMEOUT", PATIENCE, 1);
}

static void signals_reach_all_machines(void **state)
{
    struct setting setting = {0};
    struct run run = START(&setting, RUN("a:2,b:3", AGENT), (char *)"sh", (char *)"-c",
                           (char *)"trap 'echo got; exit 0' USR1; echo ready; while :; do sleep "
                                   "0.05; done");
    await_output(&run, "ready\n", 5);
    kill(run.pid, SIGUSR1);
    await_output(&run, "got\n", 5);
    end_tern(&run);
    assert_int_equal(run.status, 0);
    close_run(&run);
    run = START(&setting, RUN("a:2,b:3", PARENT), SELF("hang"));
    await_output(&run, "ready\n", 5);
    kill(run.pid, SIGTERM);
    end_with(&run, 143, "ready\nready\nready\nready\nready\n",
             "tern run: ended by signal 15 (Terminated)\n");
}

static void the_timeout_holds_for_all_machines(void **state)
{
    EXPECT(124, "", "tern run: ended after the timeout of 0.3 s\n", RUN("a:2,b", AGENT),
           (char *)"--timeout", (char *)"0.3", (char *)"sleep", (char *)"60");
}

// At any moment, also while hosts start and ranks join: everything ends, and a sentence says why.
static void a_kill_at_any_moment_leaves_nothing(void **state)
{
    uint64_t random = random_seed();
    for (int i = 0; i < 24; i++) {
        struct setting setting = {0};
        struct run run = START(&setting, RUN("a:2,b:3", agents[i % 2]), SELF("hang"));
        pid_t pids[256];
        sleep_ms((int)(random_below(&random, 60)));
        int count = find_processes(run.mark, ANY, pids);
        if (count > 0) {
            kill(pids[random_below(&random, (uint64_t)count)], SIGKILL);
        } else {
            kill(run.pid, SIGKILL);
        }
        await_tern(&run);
        await_none_left(run.mark);
        char *err = read_all(run.err, NULL);
        assert_int_not_equal(run.status, 0);
        if (run.status != 137 && err[0] == '\0') {
            fail_msg("status %d without a sentence", run.status);
        }
        free(err);
        close_run(&run);
    }
}

static void hosts_are_counted_as_they_are_started(void **state)
{
    int counts[TERN_RANKS_MAX];
    assert_int_equal(tern_launch_hosts("a:2,[::1]:3,b,a", counts), 4);
    assert_true(counts[0] == 2 && counts[1] == 3 && counts[2] == 1 && counts[3] == 1);
    assert_int_equal(tern_launch_hosts("a:2,", counts), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "names no host"));
    assert_int_equal(tern_launch_hosts("a:64,b", counts), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "more than 64 ranks"));
    assert_int_equal(tern_launch_hosts(NULL, counts), TERN_ERR_ARG);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0) {
        return act(argv[2]);
    }
    setenv("TERN_NET_TIMEOUT", PATIENCE, 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_counted_as_they_are_started),
        cmocka_unit_test(every_rank_finds_the_machines),
        cmocka_unit_test(as_many_hosts_as_ranks),
        cmocka_unit_test(this_machine_needs_no_agent),
        cmocka_unit_test(words_and_variables_arrive_as_they_are),
        cmocka_unit_test(output_comes_to_the_head),
        cmocka_unit_test(standard_input_goes_to_rank_0),
        cmocka_unit_test(what_a_rank_does_is_reported),
        cmocka_unit_test(who_is_blamed_is_reported),
        cmocka_unit_test(ranks_that_do_not_come_are_named_everywhere),
        cmocka_unit_test(hosts_that_cannot_be_started_are_named),
        cmocka_unit_test(wrong_words_have_a_sentence),
        cmocka_unit_test(whatever_is_killed_ends_the_job),
        cmocka_unit_test(a_silent_host_ends_the_job),
        cmocka_unit_test(nothing_survives_a_killed_head),
        cmocka_unit_test(a_stopped_head_is_not_waited_for),
        cmocka_unit_test(signals_reach_all_machines),
        cmocka_unit_test(the_timeout_holds_for_all_machines),
        cmocka_unit_test(a_kill_at_any_moment_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
