// SPDX-License-Identifier: Apache-2.0
// Work and its queues: what belongs to whom, in which order it goes on, and a queue that another
// thread takes over.
#include "support/cmocka.h"
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "sync/work.h"
#include "sync/wait.h"
#include "tern/status.h"

enum { STEPS = 3 };

static char order[64]; // the names of the items as they were advanced
static size_t order_length;

// Work of STEPS steps; each may be done at any time.
struct script {
    struct tern__work work;
    char name;
    int left;
};

static bool advance(struct tern__work *work)
{
    struct script *script = (struct script *)(void *)work;
    order[order_length++] = script->name;
    if (--script->left == 0) {
        tern__work_end(work);
    }
    return true;
}

static bool ready(struct tern__work *work)
{
    return ((struct script *)(void *)work)->left > 0;
}

static const struct tern__work_ops script_ops = {.advance = advance, .ready = ready};

static struct script make(struct tern__job *job, char name)
{
    return (struct script){.work = {.ops = &script_ops, .job = job}, .name = name, .left = STEPS};
}

static int start_over(void **state)
{
    memset(order, 0, sizeof order);
    order_length = 0;
    return 0;
}

static void tasks_of_a_queue_go_on_oldest_first(void **state)
{
    struct tern__job job = {0};
    struct tern__job other = {0};
    struct script a = make(&job, 'a');
    struct script b = make(&job, 'b');
    struct script c = make(&other, 'c');
    assert_false(tern__work_exists());
    tern__work_begin(&a.work);
    tern__work_begin(&c.work);
    tern__work_begin(&b.work);
    assert_true(tern__work_is_mine(&a.work));
    assert_true(tern__work_advance(&job, NULL));
    assert_true(tern__work_advance(&job, &a.work));
    while (tern__work_advance(&job, NULL)) {
    }
    assert_string_equal(order, "abbaba");
    assert_false(tern__work_is_running(&a.work));
    assert_true(tern__work_is_running(&c.work));
    tern__work_end(&c.work);
    tern__work_end(&c.work); // nothing is left to end
    assert_false(tern__work_exists());
}

// What a thread finds before and after it takes the queue.
struct handed {
    struct tern__queue queue;
    struct tern__job *job;
    struct script *script;
    bool was_mine, is_mine, existed, exists;
};

static void *take_over(void *arg)
{
    struct handed *handed = arg;
    handed->was_mine = tern__work_is_mine(&handed->script->work);
    handed->existed = tern__work_exists();
    struct tern__queue *before = tern__queue_use(&handed->queue);
    handed->is_mine = tern__work_is_mine(&handed->script->work);
    handed->exists = tern__work_exists();
    while (tern__work_advance(handed->job, NULL)) {
    }
    return before;
}

static void a_queue_goes_from_thread_to_thread_with_its_tasks(void **state)
{
    struct tern__job job = {0};
    struct script mine = make(&job, 'm');
    struct script first = make(&job, 'f');
    struct script second = make(&job, 's');
    struct handed handed = {.job = &job, .script = &first};
    pthread_t thread;
    void *before = &handed;
    tern__work_begin(&mine.work);
    assert_null(tern__queue_use(&handed.queue));
    assert_false(tern__work_is_mine(&mine.work));
    tern__work_begin(&first.work);
    tern__work_begin(&second.work);
    assert_true(tern__work_advance(&job, NULL));
    assert_ptr_equal(tern__queue_use(NULL), &handed.queue);
    assert_false(tern__work_is_mine(&first.work));
    assert_int_equal(pthread_create(&thread, NULL, take_over, &handed), 0);
    assert_int_equal(pthread_join(thread, &before), 0);
    assert_null(before);
    assert_false(handed.was_mine || handed.existed);
    assert_true(handed.is_mine && handed.exists);
    assert_string_equal(order, "fsfsfs");
    assert_false(tern__work_is_running(&first.work) || tern__work_is_running(&second.work));
    assert_true(tern__work_is_mine(&mine.work)); // it was left alone
    tern__work_end(&mine.work);
}

static bool script_is_through(void *arg)
{
    return ((const struct script *)arg)->left == 0;
}

static void a_wait_moves_the_tasks_of_its_bell(void **state)
{
    static struct tern__ctl ctl;
    struct tern__job job = {.ctl = &ctl, .rank = 0};
    struct script a = make(&job, 'a');
    struct tern__ladder ladder = tern__ladder_for(1, 1);
    struct tern__wait wait = {.bell = &ctl.ranks[0].bell,
                              .ladder = &ladder,
                              .timeout_ns = INT64_C(60000000000),
                              .holds = script_is_through,
                              .arg = &a};
    tern__work_begin(&a.work);
    assert_int_equal(tern__wait(&wait), TERN_OK);
    assert_string_equal(order, "aaa");
}

// Of one step that nobody can do before it is seen to wait outside of a rest.
struct looked_at {
    struct tern__work work;
    tern__done done;
};

static bool end_when_looked_at(struct tern__work *work)
{
    struct looked_at *item = (struct looked_at *)(void *)work;
    if (tern__peek(&work->job->ctl->ranks[0].doing) == TERN__DOING_PLAN) {
        tern__work_end(work);
        tern__work_done(work, &item->done);
        return true;
    }
    return false;
}

static bool always_ready(struct tern__work *work)
{
    (void)work;
    return true;
}

static void say_plan(struct tern__work *work)
{
    tern__job_doing(work->job, TERN__DOING_PLAN, 1);
}

static int go_on(struct tern__work *work, bool deep)
{
    (void)work;
    (void)deep;
    return TERN_OK;
}

static void say_nothing(struct tern__work *work)
{
    (void)work;
}

// Between machines a wait looks also while it has something to do. What it says of itself then
// does not stay.
static void a_wait_that_has_ended_is_not_shown(void **state)
{
    static struct tern__ctl ctl;
    static const struct tern__work_ops ops = {.advance = end_when_looked_at,
                                              .ready = always_ready,
                                              .asleep = say_plan,
                                              .broken = go_on,
                                              .awake = say_nothing};
    struct tern__job job = {.ctl = &ctl, .nranks = 1};
    struct looked_at item = {.work = {.ops = &ops, .job = &job}};
    struct tern__awaited awaited = {.work = &item.work,
                                    .done = &item.done,
                                    .timeout_ns = INT64_C(60000000000)};
    job.net = (struct tern__net *)(void *)&job; // there is one, and nothing of it is used
    tern__work_begin(&item.work);
    assert_int_equal(tern__work_wait(&awaited), TERN_OK);
    assert_int_equal(tern__peek(&ctl.ranks[0].doing), TERN__DOING_OTHER);
}

static int looks; // that have failed

static bool move_until_looked_at(struct tern__work *work)
{
    struct looked_at *item = (struct looked_at *)(void *)work;
    if (looks > 0) {
        tern__work_end(work);
        tern__work_done(work, &item->done);
    }
    return true;
}

static int fail_for_good(struct tern__work *work, bool deep)
{
    (void)work;
    (void)deep;
    looks++;
    return tern__fail(TERN_ERR_PEER, "a look has failed");
}

// A look on the way to a success leaves the sentence of an earlier failure alone.
static void a_wait_that_ends_well_says_nothing(void **state)
{
    static struct tern__ctl ctl;
    static const struct tern__work_ops ops = {.advance = move_until_looked_at,
                                              .ready = always_ready,
                                              .asleep = say_nothing,
                                              .broken = fail_for_good,
                                              .awake = say_nothing};
    struct tern__job job = {.ctl = &ctl, .nranks = 1};
    struct looked_at item = {.work = {.ops = &ops, .job = &job}};
    struct tern__awaited awaited = {.work = &item.work,
                                    .done = &item.done,
                                    .timeout_ns = INT64_C(60000000000)};
    job.net = (struct tern__net *)(void *)&job;
    tern__set_error("the sentence of an earlier call");
    tern__work_begin(&item.work);
    assert_int_equal(tern__work_wait(&awaited), TERN_OK);
    assert_true(looks > 0);
    assert_string_equal(tern_last_error(), "the sentence of an earlier call");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(tasks_of_a_queue_go_on_oldest_first, start_over),
        cmocka_unit_test_setup(a_queue_goes_from_thread_to_thread_with_its_tasks, start_over),
        cmocka_unit_test_setup(a_wait_moves_the_tasks_of_its_bell, start_over),
        cmocka_unit_test(a_wait_that_has_ended_is_not_shown),
        cmocka_unit_test(a_wait_that_ends_well_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
