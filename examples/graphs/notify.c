// SPDX-License-Identifier: Apache-2.0
// Two tasks around a transfer between ranks, without a core that waits. Each rank's producer stores
// a part in the next rank's mailbox and notifies it; each rank's consumer copies what came into its
// own. What holds the consumer back:
//
//     --hold deferred   the producer's end: it has deferred that until this rank was notified
//                       (tern_kernel_defer), and the consumer reads what the producer "writes"
//     --hold wait       the consumer itself waits for the signal, and adds the signal's value - 1
//
// The last rank's producers are slow, so that who does not wait reads an old part.
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels.h"
#include "kit.h"
#include "tern/put.h"

enum { DEFERRED, WAIT };
enum { SIDE = 128, ELEMENTS = SIDE * SIDE, SIGNAL = 256 };

struct notify {
    const struct job *job;
    int hold;
    int round;
    int delay_us;
    float *result;
};

static const struct notify *notify_of(int64_t arg)
{
    return (const struct notify *)(intptr_t)arg;
}

// The signal counts up, once a round.
static tern_condition came(const struct notify *notify)
{
    return (tern_condition){notify->job->window, SIGNAL, TERN_CMP_GE, notify->round + 1};
}

static float part_of(const struct job *job, int rank, int round)
{
    return (float)(rank + 1 + round * job->nranks);
}

static int produce(const struct notify *notify)
{
    const struct job *job = notify->job;
    float part[SIDE];
    int next = (job->rank + 1) % job->nranks;
    for (int i = 0; i < SIDE; i++) {
        part[i] = part_of(job, job->rank, notify->round);
    }
    if (job->rank == job->nranks - 1) {
        usleep((useconds_t)notify->delay_us);
    }
    for (size_t row = 0; row < SIDE; row++) {
        TRY(tern_put(job->window, next, JOB_SIGNAL_BYTES + row * sizeof part, part, sizeof part));
    }
    TRY(tern_signal_notify(job->window, next, SIGNAL, 1, TERN_NOTIFY_ADD));
    if (notify->hold == DEFERRED) {
        tern_condition condition = came(notify);
        TRY(tern_kernel_defer(&condition));
    }
    return TERN_OK;
}

// AIV: (mailbox, notify)
static void kernel_produce(int64_t *args)
{
    if (produce(notify_of(args[1])) < 0) {
        tern_kernel_fail("%s", tern_last_error());
    }
}

// AIV: (mailbox, result, notify)
static void kernel_consume(int64_t *args)
{
    const float *mailbox = tern_region_data(kernel_region(args[0]));
    float *result = tern_region_data(kernel_region(args[1]));
    const struct notify *notify = notify_of(args[2]);
    int32_t more = 0;
    if (notify->hold == WAIT) {
        if (tern_signal_read(notify->job->window, SIGNAL, &more) < 0) {
            tern_kernel_fail("%s", tern_last_error());
        }
        more -= 1;
    }
    for (size_t i = 0; i < ELEMENTS; i++) {
        result[i] = mailbox[i] + (float)more;
    }
}

static int build(tern_graph *graph, void *arg)
{
    const struct notify *notify = arg;
    const struct job *job = notify->job;
    tern_region mailbox;
    tern_region result;
    kit_region(job, job_at(job, job->rank, JOB_SIGNAL_BYTES), SIDE, SIDE, &mailbox);
    kit_region(job, notify->result, SIDE, SIDE, &result);
    tern_task_arg of_producer[] = {{.access =
                                        notify->hold == DEFERRED ? TERN_OUT_EXISTING : TERN_NO_DEP,
                                    .region = &mailbox},
                                   {.access = TERN_SCALAR, .scalar = (uint64_t)kernel_arg(notify)}};
    tern_task_arg of_consumer[] = {{.access = TERN_IN, .region = &mailbox},
                                   {.access = TERN_OUT_EXISTING, .region = &result},
                                   {.access = TERN_SCALAR, .scalar = (uint64_t)kernel_arg(notify)}};
    tern_condition condition = came(notify);
    tern_submission producer = {.task = {.name = "produce",
                                         .kernel = kernel_produce,
                                         .core = TERN_CORE_AIV},
                                .args = of_producer,
                                .args_count = 2};
    tern_submission consumer = {.task = {.name = "consume",
                                         .kernel = kernel_consume,
                                         .core = TERN_CORE_AIV},
                                .args = of_consumer,
                                .args_count = 3,
                                .waits = &condition,
                                .waits_count = notify->hold == WAIT};
    TRY(tern_graph_submit(graph, &producer, NULL));
    return tern_graph_submit(graph, &consumer, NULL);
}

static void verify(const struct notify *notify)
{
    const struct job *job = notify->job;
    int before = (job->rank + job->nranks - 1) % job->nranks;
    float wanted = part_of(job, before, notify->round);
    wanted += notify->hold == WAIT ? (float)notify->round : 0;
    for (int i = 0; i < ELEMENTS; i++) {
        if (notify->result[i] != wanted) {
            job_fail(job, "round %d: element %d is %g, expected %g", notify->round, i,
                     (double)notify->result[i], (double)wanted);
        }
    }
}

int main(int argc, char **argv)
{
    static const char *const holds[] = {"deferred", "wait", NULL};
    struct job job;
    job_begin(&job, "graph_notify");
    struct notify notify = {.job = &job, .delay_us = 20000};
    int rounds = 3;
    const struct kit_option options[] = {
        {"hold", &notify.hold, 0, 0, "deferred or wait (deferred)", holds},
        {"rounds", &rounds, 1, 1000, "how often (3)", NULL},
        {"delay", &notify.delay_us, 0, 1000000, "of the last rank, in microseconds (20000)", NULL},
    };
    kit_options(&job, argc, argv,
                "A transfer to the next rank, and a task that is held until then.", options,
                sizeof options / sizeof *options);
    job_window(&job, JOB_SIGNAL_BYTES + ELEMENTS * sizeof(float));
    notify.result = job_memory(&job, ELEMENTS * sizeof(float));
    tern_chip *chip = kit_chip(&job, 0, 1); // one core: held tasks must not need it
    tern_graph *graph = NULL;
    job_check(&job, "tern_graph_create_rings", tern_graph_create_rings(NULL, &graph));
    for (notify.round = 0; notify.round < rounds; notify.round++) {
        kit_orchestrate(&job, chip, graph, build, &notify);
        verify(&notify);
        job_meet(&job); // before the mailboxes are written again
    }
    job_check(&job, "tern_graph_destroy", tern_graph_destroy(graph));
    job_check(&job, "tern_chip_destroy", tern_chip_destroy(chip));
    job_end(&job, "a transfer, held by %s", holds[notify.hold]);
    return 0;
}
