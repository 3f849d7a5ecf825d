// SPDX-License-Identifier: Apache-2.0
// Reports on jobs of several machines: where each rank is and what it does, as every machine sees
// it, with how long calls have been open there; and a machine that is silent for a while.
#include "support/cmocka.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "coll/record_algorithm.h"
#include "comm/comm.h"
#include "support/machines.h"
#include "tern/job.h"

enum { TRIES = 3000, AGO_S = 20 };

// The report with runs of spaces as one, once it has these words; NULL when that does not come.
static char *until_it_says(tern_job_form form, const char *words)
{
    char *text = NULL;
    for (int i = 0; i < TRIES; i++) {
        free(text);
        if (tern_job_report((int)getpid(), 2, form, &text) != TERN_OK) {
            return NULL;
        }
        char *to = text;
        for (const char *from = text; *from != '\0'; from++) {
            if (*from != ' ' || to == text || to[-1] != ' ') {
                *to++ = *from;
            }
        }
        *to = '\0';
        if (strstr(text, words) != NULL) {
            return text;
        }
        usleep(10000);
    }
    fprintf(stderr, "'%s' is not in:\n%s\n", words, text);
    free(text);
    return NULL;
}

static bool says(tern_job_form form, const char *words)
{
    char *text = until_it_says(form, words);
    free(text);
    return text != NULL;
}

// The words, and behind them a number that is not less.
static bool says_number(tern_job_form form, const char *words, double least)
{
    char *text = until_it_says(form, words);
    double number = text != NULL ? strtod(strstr(text, words) + strlen(words), NULL) : -1;
    free(text);
    return number >= least;
}

// Of a rank of another machine: once that has said so.
static int pid_of(const struct tern__job *job, int rank)
{
    int pid = 0;
    for (int i = 0; i < TRIES && pid == 0; i++) {
        pid = (int)tern__peek(&job->ctl->ranks[rank].pid);
        usleep(pid == 0 ? 10000 : 0);
    }
    return pid;
}

// Every rank says that it has waited for the next one for 20 s; a machine is up for longer.
static int all_see_all(tern_comm *comm, void *arg)
{
    const char *layout = arg;
    int rank = tern_comm_rank(comm);
    int size = tern_comm_size(comm);
    char words[160];
    uint64_t sums = tern__signature_pack(TERN_COLL_ALL_REDUCE, TERN_F32, TERN_SUM, 0, 0, -1, 8);
    struct tern__beginning call = {.comm_slot = 0,
                                   .sequence = 100 + (uint64_t)rank,
                                   .signature = sums,
                                   .bytes = 24,
                                   .now_ns = tern__now_ns() - AGO_S * TERN_NS_PER_SECOND};
    struct tern__record *record = tern__record_begin(comm->group.job, call);
    tern__record_waits(record, tern__stuck((rank + 1) % size, 0, -1), 0);
    CHECK(says(TERN_JOB_TEXT, "job of 5 ranks on 3 machines\n"));
    for (int other = 0; other < size; other++) {
        char machine = layout[other];
        snprintf(words, sizeof words, "\n %d %c %d alive ", other, machine,
                 pid_of(comm->group.job, other));
        CHECK(says(TERN_JOB_TEXT, words));
        snprintf(words, sizeof words,
                 "waits in all_reduce %d of 24 bytes (f32 sum) of communicator 0 for rank %d, for ",
                 100 + other, (other + 1) % size);
        CHECK(says_number(TERN_JOB_TEXT, words, AGO_S));
        snprintf(words, sizeof words, "\"machine\":\"%c\",\"state\":\"alive\"", machine);
        CHECK(says(TERN_JOB_JSON, words));
        snprintf(words, sizeof words, "{\"machine\":\"%c\",\"state\":\"%s\"", machine,
                 machine == layout[rank] ? "here" : "heard");
        CHECK(says(TERN_JOB_JSON, words));
    }
    CHECK(says(TERN_JOB_TEXT, ": this one\n") && says(TERN_JOB_TEXT, ": as of 0."));
    CHECK(says_number(TERN_JOB_JSON, "\"began_ns_ago\":", AGO_S * 1e9));
    CHECK(tern_comm_barrier(comm) == TERN_OK); // nobody leaves before all have looked
    tern__record_end(record, TERN_OK, tern__now_ns());
    return 0;
}

static void every_machine_knows_what_all_ranks_do(void **state)
{
    assert_true(machines_run_comm("aabcc", all_see_all, (void *)(uintptr_t) "aabcc", 60));
}

// Rank 0 stops the leader of the other machine, and looks.
static int stop_another(tern_comm *comm, void *arg)
{
    if (tern_comm_rank(comm) == 0) {
        CHECK(says(TERN_JOB_TEXT, "machine b (ranks 1-2): as of 0."));
        pid_t leader = pid_of(comm->group.job, 1);
        CHECK(leader > 0); // 0 would be all processes of the group
        CHECK(kill(leader, SIGSTOP) == 0);
        bool said = says(TERN_JOB_TEXT, "machine b (ranks 1-2): silent for 1.") &&
                    says(TERN_JOB_TEXT, " s; what is said of its ranks is that old\n") &&
                    says(TERN_JOB_JSON, "\"state\":\"silent\",\"heard_ns_ago\":");
        CHECK(kill(leader, SIGCONT) == 0 && said);
        CHECK(says(TERN_JOB_TEXT, "machine b (ranks 1-2): as of 0."));
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    return 0;
}

static void a_silent_machine_is_named(void **state)
{
    setenv("TERN_NET_TIMEOUT", "60", 1);
    assert_true(machines_run_comm("abb", stop_another, NULL, 60));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_machine_knows_what_all_ranks_do),
        cmocka_unit_test(a_silent_machine_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
