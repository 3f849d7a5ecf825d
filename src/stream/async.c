// SPDX-License-Identifier: Apache-2.0
// Copy engines and their sessions. A session's transfers are in a ring; an engine, or the thread
// that waits, takes the oldest that nobody has taken, and copies without the lock. So a waiter
// never sleeps while there is something left to copy, also when the engine has no processor. Data
// path of a transfer: a short lock, and no system call but to wake and to sleep.

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/handle.h"
#include "base/public.h"
#include "isa/check.h"
#include "isa/far.h"
#include "isa/view.h"
#include "base/thread.h"
#include "tern/async.h"
#include "tern/block.h"

enum { ENGINES = 4 };

struct transfer {
    struct tern__view to, from;
    bool done;
};

// Checking mode: one that has not been waited for.
struct unordered {
    uint64_t number;
    struct tern__watch_slot slot;
    uint32_t site;
};

struct engine {
    pthread_mutex_t lock;
    pthread_cond_t begun; // the engine sleeps on it
    pthread_cond_t ended; // and who waits for it on this one
    bool runs;
    struct tern_session *sessions;
};

// Under its engine's lock. Transfer number e is in ring[e % TERN_ASYNC_MAX].
struct tern_session {
    struct tern__handle handle;
    struct engine *engine;
    struct tern_session *next;
    uint64_t begun, taken, ended; // numbers: all up to `ended` have
    uint64_t free;                // up to here they may be copied: checking mode keeps them back
    struct transfer ring[TERN_ASYNC_MAX];
    struct unordered *unordered; // in the order of their numbers
    size_t unordered_count, unordered_room;
};

static struct engine engines[ENGINES];
static _Atomic uint32_t sessions_made;

static void reset_engines(void)
{
    for (int i = 0; i < ENGINES; i++) {
        engines[i] = (struct engine){.sessions = NULL};
        pthread_mutex_init(&engines[i].lock, NULL);
        pthread_cond_init(&engines[i].begun, NULL);
        pthread_cond_init(&engines[i].ended, NULL);
    }
}

// The child of a fork has none of the threads; it makes engines of its own.
static void prepare(void)
{
    reset_engines();
    pthread_atfork(NULL, NULL, reset_engines);
}

// Copies the oldest transfer that nobody has taken; false: there is none. Under the lock, without
// it while it copies.
static bool copy_one(struct tern_session *session)
{
    if (session->taken == session->free) {
        return false;
    }
    struct transfer *transfer = &session->ring[++session->taken % TERN_ASYNC_MAX];
    pthread_mutex_unlock(&session->engine->lock);
    if (!tern__shape_is_empty(transfer->from.shape)) {
        tern__view_copy(&transfer->to, &transfer->from, TERN_ATOMIC_NONE);
        tern__owe_ring(transfer->to.window, transfer->to.rank);
        tern_fence(); // wakes who waits for what has been stored
    }
    pthread_mutex_lock(&session->engine->lock);
    transfer->done = true;
    uint64_t before = session->ended;
    while (session->ended < session->taken &&
           session->ring[(session->ended + 1) % TERN_ASYNC_MAX].done) {
        session->ring[++session->ended % TERN_ASYNC_MAX].done = false;
    }
    if (session->ended != before) {
        pthread_cond_broadcast(&session->engine->ended);
    }
    return true;
}

static void *engine_main(void *arg)
{
    struct engine *engine = arg;
    tern__trace_name_thread("copy engine");
    pthread_mutex_lock(&engine->lock);
    for (;;) {
        bool copied = false;
        // A session is only taken out of the list, and freed, when nothing of it is under way.
        for (struct tern_session *session = engine->sessions; session != NULL && !copied;
             session = session->next) {
            copied = copy_one(session);
        }
        if (!copied) {
            pthread_cond_wait(&engine->begun, &engine->lock);
        }
    }
    return NULL;
}

static int session_create(tern_session **session)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (session == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_session_create: session must not be NULL");
    }
    pthread_once(&once, prepare);
    struct tern_session *made = tern__handle_new(TERN__SESSION, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for a session");
    }
    made->engine = &engines[tern__flag_add(&sessions_made, 1) % ENGINES];
    pthread_mutex_lock(&made->engine->lock);
    int status = TERN_OK;
    pthread_t thread;
    if (!made->engine->runs) {
        status = tern__thread_start(&thread, engine_main, made->engine);
        made->engine->runs = status == TERN_OK;
    }
    if (status == TERN_OK) {
        made->next = made->engine->sessions;
        made->engine->sessions = made;
    }
    pthread_mutex_unlock(&made->engine->lock);
    if (status != TERN_OK) {
        tern__handle_free(made, sizeof *made);
        return status;
    }
    *session = made;
    return TERN_OK;
}

int tern_session_create(tern_session **session)
{
    return TERN__CALL(session_create(session));
}

// Under the lock. Copies what is left itself, and sleeps only while others copy.
static void wait_until(struct tern_session *session, uint64_t event)
{
    session->free = session->free > event ? session->free : event;
    while (session->ended < event) {
        if (!copy_one(session)) {
            pthread_cond_wait(&session->engine->ended, &session->engine->lock);
        }
    }
}

// Checking mode: who waits for a transfer orders all up to it.
static void order_until(struct tern_session *session, uint64_t event)
{
    size_t some = 0;
    while (some < session->unordered_count && session->unordered[some].number <= event) {
        tern__watch_ordered(&session->unordered[some++].slot);
    }
    if (some > 0) {
        session->unordered_count -= some;
        memmove(session->unordered, session->unordered + some,
                session->unordered_count * sizeof *session->unordered);
    }
}

static int session_destroy(tern_session *session)
{
    if (session == NULL) {
        return TERN_OK;
    }
    if (tern__handle_is_inherited(session,
                                  TERN__SESSION)) { // in a child: the engine is the parent's
        tern__handle_free(session, sizeof *session);
        return TERN_OK;
    }
    TERN_TRY(tern__handle_check("tern_session_destroy", session, TERN__SESSION));
    struct engine *engine = session->engine;
    pthread_mutex_lock(&engine->lock);
    if (session->unordered_count > 0) {
        tern__watch_report(session->unordered[0].site,
                           "an asynchronous transfer that is never waited for");
    }
    wait_until(session, session->begun);
    order_until(session, session->begun);
    free(session->unordered);
    session->unordered = NULL;
    struct tern_session **at = &engine->sessions;
    while (*at != session) {
        at = &(*at)->next;
    }
    *at = session->next;
    pthread_mutex_unlock(&engine->lock);
    tern__handle_free(session, sizeof *session);
    return TERN_OK;
}

int tern_session_destroy(tern_session *session)
{
    return TERN__CALL(session_destroy(session));
}

static int begin_checked(struct tern_session *session, const struct transfer *transfer,
                         uint64_t number)
{
    if (session->unordered_count == session->unordered_room) {
        size_t room = 2 * session->unordered_room + TERN_ASYNC_MAX;
        struct unordered *more = realloc(session->unordered, room * sizeof *more);
        if (more == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "checking mode has no memory for %zu transfers",
                              room);
        }
        session->unordered = more;
        session->unordered_room = room;
    }
    struct unordered *one = &session->unordered[session->unordered_count++];
    one->number = number;
    one->site = tern__watch_site();
    tern__watch_load("an asynchronous transfer", &transfer->from, true);
    tern__watch_access("an asynchronous transfer", &transfer->to, TERN__WATCH_STORE, one->site,
                       &one->slot);
    return TERN_OK;
}

static int async_begin(const char *call, tern_session *session, void *to, const void *from,
                       size_t size_bytes, uint64_t *event)
{
    TERN_TRY(tern__handle_check(call, session, TERN__SESSION));
    if (event == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: event must not be NULL", call);
    }
    if (size_bytes > PTRDIFF_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: %zu bytes are more than there are", call, size_bytes);
    }
    struct tern__view views[2];
    tern_tensor tensor = tern_tensor_1d(to, TERN_U8, (int64_t)size_bytes);
    TERN_TRY(tern__view_any(call, "to", &tensor, NULL, &views[0]));
    tensor.data = (void *)(uintptr_t)from;
    TERN_TRY(tern__view_any(call, "from", &tensor, NULL, &views[1]));
    if (__builtin_expect(views[0].far && views[1].far, 0)) {
        return tern__far_refuse(call, "from", &views[1]);
    }
    pthread_mutex_lock(&session->engine->lock);
    if (session->begun - session->ended == TERN_ASYNC_MAX) { // also in checking mode: in the end
        wait_until(session, session->ended + 1);
    }
    *event = session->begun + 1;
    struct transfer *transfer = &session->ring[*event % TERN_ASYNC_MAX];
    *transfer = (struct transfer){.to = views[0], .from = views[1], .done = false};
    int status = TERN_OK;
    if (size_bytes > 0 && tern__checking()) {
        status = begin_checked(session, transfer, *event);
    }
    session->begun += status == TERN_OK;
    session->free = tern__checking() ? session->free : session->begun;
    pthread_cond_signal(&session->engine->begun);
    pthread_mutex_unlock(&session->engine->lock);
    return status;
}

int tern_async_put(tern_session *session, void *to, const void *from, size_t size_bytes,
                   uint64_t *event)
{
    return TERN__CALL(async_begin("tern_async_put", session, to, from, size_bytes, event));
}

int tern_async_get(tern_session *session, void *to, const void *from, size_t size_bytes,
                   uint64_t *event)
{
    return TERN__CALL(async_begin("tern_async_get", session, to, from, size_bytes, event));
}

static int check_event(const char *call, const tern_session *session, uint64_t event)
{
    TERN_TRY(tern__handle_check(call, session, TERN__SESSION));
    return event >= 1 && event <= session->begun
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "%s: %" PRIu64 " is no transfer of this session, which began %" PRIu64,
                            call, event, session->begun);
}

static int session_wait(tern_session *session, uint64_t event)
{
    TERN_TRY(check_event("tern_session_wait", session, event));
    pthread_mutex_lock(&session->engine->lock);
    wait_until(session, event);
    order_until(session, event);
    pthread_mutex_unlock(&session->engine->lock);
    return TERN_OK;
}

int tern_session_wait(tern_session *session, uint64_t event)
{
    return TERN__CALL(session_wait(session, event));
}

static int session_test(tern_session *session, uint64_t event)
{
    TERN_TRY(check_event("tern_session_test", session, event));
    pthread_mutex_lock(&session->engine->lock);
    bool ended = session->ended >= event;
    if (ended) {
        order_until(session, event);
    } else if (session->free < event) { // checking mode: who asks gets it going
        session->free = event;
        pthread_cond_signal(&session->engine->begun);
    }
    pthread_mutex_unlock(&session->engine->lock);
    if (!ended) {
        sched_yield(); // a program that tests in a loop lets the engine run
    }
    return ended;
}

int tern_session_test(tern_session *session, uint64_t event)
{
    return TERN__CALL(session_test(session, event));
}
