// SPDX-License-Identifier: Apache-2.0
// Callbacks in the order of a stream. A launch is a kernel of one block that hands a report to the
// thread that subscribed for the stream, and may wait until that has run it. Set-up path.

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "faces/acl/state.h"
#include "tern/stream.h"

struct subscription {
    struct subscription *next;
    uint64_t thread;
    aclrtStream stream;
};

enum state { WAITS, RUNS, DONE, DROPPED };

struct report {
    struct report *next;
    uint64_t thread;
    aclrtStream stream;
    aclrtCallback function;
    void *data;
    enum state state;
    bool kept; // whoever launched it waits, and frees it
};

struct launch {
    uint64_t thread;
    aclrtStream stream;
    aclrtCallback function;
    void *data;
    bool blocks;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // of all that follows
static pthread_cond_t changed;
static struct subscription *subscriptions;
static struct report *reports; // oldest first

static void prepare(void)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void enter(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
}

// The link to what has this stream, or with thread != 0 this thread, or both. Under the lock.
static struct subscription **find(uint64_t thread, const void *stream)
{
    struct subscription **at = &subscriptions;
    while (*at != NULL && ((thread != 0 && (*at)->thread != thread) ||
                           (stream != NULL && (*at)->stream != stream))) {
        at = &(*at)->next;
    }
    return at;
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream)
{
    const char *call = "aclrtSubscribeReport";
    struct subscription *made = calloc(1, sizeof *made);
    if (threadId == 0 || stream == NULL || made == NULL) {
        free(made);
        return tern__acl_no_pointer(call, stream == NULL ? "stream" : "threadId");
    }
    int lives = tern_stream_test(stream);
    if (lives < 0) {
        free(made);
        return tern__acl_error(lives);
    }
    enter();
    struct subscription **at = find(0, stream);
    bool taken = *at != NULL;
    if (!taken) {
        *made = (struct subscription){.thread = threadId, .stream = stream};
        *at = made;
    }
    pthread_mutex_unlock(&lock);
    if (taken) {
        free(made);
        tern__set_error("%s: a thread has subscribed for this stream already", call);
        return tern__acl_fail(ACL_ERROR_REPEAT_SUBSCRIBE);
    }
    return ACL_SUCCESS;
}

// Reports of the stream that nobody will process. Under the lock.
static void drop_reports(const void *stream)
{
    struct report **at = &reports;
    while (*at != NULL) {
        struct report *report = *at;
        if (report->stream != stream || report->state != WAITS) {
            at = &report->next;
            continue;
        }
        *at = report->next;
        report->state = DROPPED;
        if (!report->kept) {
            free(report);
        }
    }
    pthread_cond_broadcast(&changed);
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream)
{
    enter();
    struct subscription **at = find(threadId, stream);
    struct subscription *gone = stream != NULL ? *at : NULL;
    if (gone != NULL) {
        *at = gone->next;
        drop_reports(stream);
    }
    pthread_mutex_unlock(&lock);
    if (gone == NULL) {
        tern__set_error("aclrtUnSubscribeReport: this thread has not subscribed for this stream");
        return tern__acl_fail(ACL_ERROR_STREAM_NOT_SUBSCRIBE);
    }
    free(gone);
    return ACL_SUCCESS;
}

// The oldest one for the thread, or NULL; it is in the list no more. Under the lock.
static struct report *take(uint64_t thread)
{
    struct report **at = &reports;
    while (*at != NULL && (*at)->thread != thread) {
        at = &(*at)->next;
    }
    struct report *report = *at;
    if (report != NULL) {
        *at = report->next;
        report->state = RUNS;
    }
    return report;
}

static void run(struct report *report)
{
    tern__acl_in_callback(true);
    report->function(report->data);
    tern__acl_in_callback(false);
    enter();
    report->state = DONE;
    bool kept = report->kept;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (!kept) {
        free(report);
    }
}

static int64_t deadline_of(int32_t timeout_ms)
{
    int64_t timeout_ns = tern__acl_timeout(timeout_ms);
    if (timeout_ns < 0 && tern__timeout_option(0, &timeout_ns) != TERN_OK) {
        timeout_ns = TERN_DEFAULT_TIMEOUT_NS;
    }
    return tern__deadline_after(timeout_ns);
}

// False when the deadline has passed.
static bool sleep_until(int64_t deadline_ns)
{
    struct timespec until = tern__timespec(deadline_ns);
    return pthread_cond_timedwait(&changed, &lock, &until) == 0;
}

aclError aclrtProcessReport(int32_t timeoutMs)
{
    const uint64_t self = (uint64_t)pthread_self();
    const int64_t deadline = deadline_of(timeoutMs);
    struct report *report = NULL;
    bool in_time = true;
    enter();
    bool subscribed = *find(self, NULL) != NULL;
    while (subscribed && in_time && (report = take(self)) == NULL) {
        in_time = sleep_until(deadline);
        subscribed = *find(self, NULL) != NULL;
    }
    pthread_mutex_unlock(&lock);
    if (report != NULL) {
        run(report);
        return ACL_SUCCESS;
    }
    if (!subscribed) {
        tern__set_error("aclrtProcessReport: this thread has not subscribed for a stream");
        return tern__acl_fail(ACL_ERROR_THREAD_NOT_SUBSCRIBE);
    }
    tern__set_error("aclrtProcessReport: no callback has come in time");
    return tern__acl_fail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT);
}

// Under the lock; the report is kept.
static int wait_done(struct report *report)
{
    const int64_t deadline = deadline_of(-1);
    while ((report->state == WAITS || report->state == RUNS) && sleep_until(deadline)) {
    }
    switch (report->state) {
    case DONE:
        return TERN_OK;
    case DROPPED:
        return tern__fail(TERN_ERR_STATE, "its thread unsubscribed before the callback ran");
    default:
        return tern__fail(TERN_ERR_TIMEOUT, "the callback was not run in time: its thread must "
                                            "call aclrtProcessReport");
    }
}

static int hand_over(void *args)
{
    const struct launch *launch = args;
    struct report *report = calloc(1, sizeof *report);
    int status = TERN_OK;
    if (report == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a callback");
    }
    *report = (struct report){.thread = launch->thread,
                              .stream = launch->stream,
                              .function = launch->function,
                              .data = launch->data,
                              .kept = launch->blocks};
    enter();
    struct report **at = &reports;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = report;
    pthread_cond_broadcast(&changed);
    if (launch->blocks) {
        status = wait_done(report);
        if (report->state == WAITS) {
            for (at = &reports; *at != report; at = &(*at)->next) {
            }
            *at = report->next;
        }
        report->kept = report->state != RUNS; // else the one that runs it frees it
        if (!report->kept) {
            report = NULL;
        }
        pthread_mutex_unlock(&lock);
        free(report);
        return status;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

static aclError launch_block(const char *call, tern_block_kernel kernel, const void *args,
                             size_t bytes, aclrtStream stream)
{
    return tern__acl_error(tern_stream_launch(stream, &(tern_stream_kernel){.kernel = kernel,
                                                                            .name = call,
                                                                            .blocks = 1,
                                                                            .args = args,
                                                                            .args_bytes = bytes}));
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream)
{
    const char *call = "aclrtLaunchCallback";
    if (fn == NULL || stream == NULL) {
        return tern__acl_no_pointer(call, fn == NULL ? "fn" : "stream");
    }
    enter();
    const struct subscription *found = *find(0, stream);
    uint64_t thread = found != NULL ? found->thread : 0;
    pthread_mutex_unlock(&lock);
    if (found == NULL) {
        tern__set_error("%s: no thread has subscribed for this stream: aclrtSubscribeReport", call);
        return tern__acl_fail(ACL_ERROR_RT_STREAM_NO_CB_REG);
    }
    struct launch launch = {thread, stream, fn, userData, blockType == ACL_CALLBACK_BLOCK};
    return launch_block(call, hand_over, &launch, sizeof launch, stream);
}

static int call_host(void *args)
{
    const struct launch *launch = args;
    launch->function(launch->data);
    return TERN_OK;
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtCallback fn, void *userData)
{
    const char *call = "aclrtLaunchHostFunc";
    struct launch launch = {.function = fn, .data = userData};
    if (fn == NULL) {
        return tern__acl_no_pointer(call, "fn");
    }
    if (stream == NULL) {
        fn(userData);
        return ACL_SUCCESS;
    }
    return launch_block(call, call_host, &launch, sizeof launch, stream);
}
