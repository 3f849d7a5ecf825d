// SPDX-License-Identifier: Apache-2.0
// Reports on jobs, seen from a process of the job itself: what is in them, in words and as JSON,
// for calls in every state, and for a process in two jobs. From outside: test/system/info.sh.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coll/record_algorithm.h"
#include "comm/comm.h"
#include "support/look.h"
#include "support/ranks.h"
#include "tern/job.h"

static struct tern__record *begin(tern_comm *comm, uint64_t sequence, uint64_t signature,
                                  uint64_t bytes, int64_t now_ns)
{
    return tern__record_begin(comm->group.job,
                              (struct tern__beginning){.comm_slot = comm->group.slot,
                                                       .way = TERN__WAY_SLOT,
                                                       .sequence = sequence,
                                                       .signature = signature,
                                                       .bytes = bytes,
                                                       .now_ns = now_ns});
}

static int index_of(tern_plan_kind kind, const char *name)
{
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        if (strcmp(tern_algo_name(kind, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

// Runs of spaces count as one: how wide a column is depends on how long the machine is up.
static void squeeze(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from != ' ' || to == text || to[-1] != ' ') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static bool has(const char *text, const char *words)
{
    if (strstr(text, words) != NULL) {
        return true;
    }
    fprintf(stderr, "'%s' is not in:\n%s\n", words, text);
    return false;
}

// What one rank recorded, as another sees it.
static int look(tern_comm *comm, void *arg)
{
    char *text = NULL;
    int rank = tern_comm_rank(comm);
    int fused = index_of(TERN_PLAN_ALL_REDUCE, "fused");
    CHECK(fused >= 0);
    if (rank == 0) { // the call that waits is the one to name, though another is open for longer
        uint64_t sums =
            tern__signature_pack(TERN_COLL_ALL_REDUCE, TERN_F32, TERN_SUM, 0, 0, fused, 8);
        begin(comm, 100, tern__signature_pack(TERN_COLL_SEND, 0, 0, 1, 0, -1, 4), 4, 2000);
        tern__record_end(begin(comm, 101, sums, 8, 1000), TERN_OK, 3500);
        tern__record_end(begin(comm, 102, sums, 16, 0), TERN_ERR_TIMEOUT, 0);
        tern__record_waits(begin(comm, 103, sums, 24, 2000), tern__stuck(1, 2, 3), 0);
        begin(comm, 104, sums, 32, 2000);
    }
    CHECK(tern_comm_barrier(comm) == TERN_OK);
    CHECK(tern_job_report((int)getpid(), 64, TERN_JOB_TEXT, &text) == TERN_OK);
    squeeze(text);
    CHECK(has(text, "job of 2 ranks\n"));
    CHECK(has(text, "waits in all_reduce 103 of 24 bytes (f32 sum) of communicator 0 for rank "
                    "1 at lane 2, op 3, for "));
    CHECK(has(text, "; 2 more are open"));
    CHECK(has(text, "\n 104 0 all_reduce 32 f32 sum fused slot entered "));
    CHECK(has(text, " ago 2.50 us\n"));
    CHECK(has(text, " failed - -: the deadline passed\n"));
    CHECK(has(text, "\n 101 0 ") && strstr(text, "\n 104 0 ") < strstr(text, "\n 101 0 "));
    free(text);
    CHECK(tern_job_report((int)getpid(), 1, TERN_JOB_TEXT, &text) == TERN_OK);
    CHECK(strstr(text, "\n     104 ") != NULL && strstr(text, "\n     103 ") == NULL);
    free(text);
    CHECK(tern_job_report((int)getpid(), 64, TERN_JOB_JSON, &text) == TERN_OK);
    CHECK(has(text, "\"call\":102,\"communicator\":0,\"bytes\":16,\"kind\":\"all_reduce\""));
    CHECK(has(text, "\"status\":\"TERN_ERR_TIMEOUT\""));
    CHECK(has(text, "\"took_ns\":2500"));
    CHECK(has(text, "\"waits_for_rank\":1,\"lane\":2,\"op_index\":3"));
    free(text);
    CHECK(tern_comm_barrier(comm) == TERN_OK); // nobody leaves before all have looked
    return 0;
}

static void ranks_see_each_other(void **state)
{
    assert_true(ranks_run_comm(2, look, NULL, 20));
}

static int two_jobs(int rank, const struct ranks *ranks, void *arg)
{
    char path[128];
    tern_comm *first;
    tern_comm *second;
    char *text = NULL;
    int fds = look_fds();
    int maps = look_maps();
    snprintf(path, sizeof path, "%s-2", ranks->path);
    CHECK(tern_job_report((int)getpid(), 8, TERN_JOB_TEXT, &text) == TERN_ERR_STATE);
    CHECK(look_says("is in no job of tern"));
    CHECK(tern_init_at(rank, 2, ranks->path, NULL, &first) == TERN_OK);
    CHECK(tern_init_at(rank, 2, path, NULL, &second) == TERN_OK);
    int copy = dup(first->group.job->ctl_fd); // that a job has two descriptors makes no two jobs
    CHECK(tern_job_report((int)getpid(), 8, TERN_JOB_TEXT, &text) == TERN_OK);
    const char *again = strstr(text, "job of 2 ranks");
    CHECK(again != NULL && (again = strstr(again + 1, "job of 2 ranks")) != NULL);
    CHECK(strstr(again + 1, "job of 2 ranks") == NULL && close(copy) == 0);
    free(text);
    CHECK(tern_comm_barrier(first) == TERN_OK && tern_comm_barrier(second) == TERN_OK);
    CHECK(tern_comm_destroy(first) == TERN_OK);
    CHECK(tern_job_report((int)getpid(), 8, TERN_JOB_JSON, &text) == TERN_OK);
    again = strstr(text, "\"nranks\":2");
    CHECK(again != NULL && strstr(again + 1, "\"nranks\":2") == NULL);
    free(text);
    CHECK(tern_comm_destroy(second) == TERN_OK);
    CHECK(tern_job_report((int)getpid(), 8, TERN_JOB_TEXT, &text) == TERN_ERR_STATE);
    CHECK(look_fds() == fds && look_maps() == maps);
    return 0;
}

static void a_process_in_two_jobs(void **state)
{
    assert_true(ranks_run(2, two_jobs, NULL, 20));
}

static void wrong_arguments(void **state)
{
    char *text = NULL;
    assert_int_equal(tern_job_report(1, 8, TERN_JOB_TEXT, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_job_report(1, 8, (tern_job_form)7, &text), TERN_ERR_ARG);
    assert_int_equal(tern_job_report(1, -1, TERN_JOB_TEXT, &text), TERN_ERR_ARG);
    assert_int_equal(tern_job_report(1, 65, TERN_JOB_TEXT, &text), TERN_ERR_ARG);
    assert_int_equal(tern_job_report(0, 8, TERN_JOB_TEXT, &text), TERN_ERR_ARG);
    assert_int_equal(tern_job_report(-1, 8, TERN_JOB_TEXT, &text), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "there is no process -1"));
    assert_null(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_see_each_other),
        cmocka_unit_test(a_process_in_two_jobs),
        cmocka_unit_test(wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
