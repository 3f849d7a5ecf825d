// SPDX-License-Identifier: Apache-2.0
// Gets from ranks of other machines: a question, and the answer into the memory that the caller
// named, or, of a block, its rows one after the other, which are then spread. A get that is given
// up keeps its slot until the answer has come, and that goes nowhere.

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/memcpy.h"
#include "net/state.h"
#include "sync/group.h"
#include "sync/interrupt.h"
#include "sync/wait.h"

enum { YIELDS = 100 }; // before a thread that finds no slot sleeps

// Who hears of a death destroys its windows, which may be seen here before that is heard.
#define NEWS_NS TERN_NS_PER_SECOND

static int take_slot(struct tern__far_part *far, struct tern__net_get **get)
{
    struct tern__net *net = far->net;
    int64_t deadline_ns = tern__deadline_after(net->job->timeout_ns);
    for (int turn = 0; !tern__net_is_gone(net, far->rank); turn++) {
        for (int i = 0; i < TERN__NET_GETS; i++) {
            if (tern__flag_swap(&net->gets[i].state, TERN__GET_FREE, TERN__GET_TAKEN)) {
                *get = &net->gets[i];
                return TERN_OK;
            }
        }
        if (tern__now_ns() >= deadline_ns) {
            return tern__fail(TERN_ERR_TIMEOUT, "%d gets of this process were not answered",
                              TERN__NET_GETS);
        }
        if (turn < YIELDS) {
            sched_yield();
        } else {
            poll(NULL, 0, 1);
        }
    }
    return tern__net_say_gone(net, far->rank);
}

struct get_wait {
    struct tern__far_part *far;
    struct tern__net_get *get;
};

static bool has_come(void *arg)
{
    const struct get_wait *wait = arg;
    return tern__flag_load(&wait->get->state) != TERN__GET_ASKED; // partner: finish
}

static int get_broken(void *arg, bool deep)
{
    const struct get_wait *wait = arg;
    if (deep && tern__interrupt_now) {
        return tern__fail(TERN_ERR_INTERRUPTED, "a get from rank %d was interrupted",
                          wait->far->rank);
    }
    return tern__net_is_gone(wait->far->net, wait->far->rank)
               ? tern__net_say_gone(wait->far->net, wait->far->rank)
               : TERN_OK;
}

// After this nothing is stored at get->to any more.
static void give_up(struct tern__net *net, struct tern__net_get *get)
{
    pthread_mutex_lock(&net->work);
    if (tern__flag_swap(&get->state, TERN__GET_ASKED, TERN__GET_GIVEN_UP)) {
        tern__net_turn_away(net, get->to, get->bytes);
    } else {
        tern__flag_store(&get->state, TERN__GET_FREE); // it has come meanwhile
    }
    pthread_mutex_unlock(&net->work);
}

static int refused(const struct tern__far_part *far)
{
    const struct tern__job *job = far->net->job;
    int64_t until_ns = tern__deadline_after(NEWS_NS);
    while (job->first != NULL && tern__now_ns() < until_ns) {
        TERN_TRY(tern__group_check(job->first, true));
        poll(NULL, 0, 1);
    }
    return tern__fail(TERN_ERR_STATE,
                      "rank %d has destroyed window %u, and this process gets from it", far->rank,
                      far->window.number);
}

static int await(struct tern__far_part *far, struct tern__net_get *get)
{
    struct tern__job *job = far->net->job;
    struct get_wait wait = {far, get};
    struct tern__ladder ladder = tern__job_ladder(job);
    struct tern__wait climb = {.bell = &job->ctl->ranks[job->rank].bell,
                               .ladder = &ladder,
                               .timeout_ns = job->timeout_ns,
                               .holds = has_come,
                               .broken = get_broken,
                               .arg = &wait};
    int status = tern__ladder_climb(&climb);
    if (status != TERN_OK) {
        give_up(far->net, get);
        return status != TERN_ERR_TIMEOUT
                   ? status
                   : tern__fail(status, "rank %d did not answer a get within %.3g s", far->rank,
                                (double)job->timeout_ns * 1e-9);
    }
    bool is_refused = tern__flag_load(&get->state) == TERN__GET_REFUSED;
    tern__flag_store(&get->state, TERN__GET_FREE);
    if (is_refused && job->leaves_at_once) { // it is about to
        return tern__fail(TERN_ERR_PEER, "rank %d has left the job", far->rank);
    }
    return is_refused ? refused(far) : TERN_OK;
}

int tern__net_fetch(struct tern__far_part *far, char *local, uint64_t bytes,
                    const tern_block *block)
{
    struct tern__net_get *get = NULL;
    int status = take_slot(far, &get);
    if (get == NULL) {
        return status;
    }
    get->to = local;
    get->bytes = bytes;
    get->row_bytes = block != NULL ? block->row_bytes : bytes;
    get->stride_bytes = block != NULL ? block->local_stride_bytes : bytes;
    tern__flag_store(&get->state, TERN__GET_ASKED); // partner: find_get
    far->message.key = (uint64_t)(get - far->net->gets);
    far->message.value = get->row_bytes;
    far->message.more = block != NULL ? block->window_stride_bytes : 0;
    far->message.word = block != NULL ? (uint32_t)block->rows : 1;
    status = tern__net_send(far->net, far->rank, &far->message, NULL);
    if (status != TERN_OK) {
        give_up(far->net, get); // part of the question may be on its way
        return status;
    }
    return await(far, get);
}

// Asked.

static void refuse(struct tern__net *net, int peer, const struct tern__net_message *message)
{
    struct tern__net_message got = {.kind = TERN__NET_GOT, .key = message->key, .word = 1};
    tern__net_answer(net, peer, &got, NULL);
}

static void get_asked(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
    int rank;
    const char *from = tern__net_place(net, message, message->value, &rank);
    struct tern__net_message got = {.kind = TERN__NET_GOT,
                                    .key = message->key,
                                    .bytes = message->value};
    (void)payload;
    if (from == NULL) {
        refuse(net, peer, message);
        return;
    }
    tern__net_answer(net, peer, &got, from);
}

static void block_asked(struct tern__net *net, int peer, const struct tern__net_message *message,
                        const char *payload)
{
    int rank;
    uint64_t rows = message->word;
    uint64_t row_bytes = message->value;
    uint64_t span;
    uint64_t bytes;
    (void)payload;
    bool counts = rows > 0 && !__builtin_mul_overflow(rows, row_bytes, &bytes) &&
                  bytes <= TERN__NET_SCRATCH &&
                  !__builtin_mul_overflow(rows - 1, message->more, &span) &&
                  !__builtin_add_overflow(span, row_bytes, &span);
    const char *from = counts ? tern__net_place(net, message, span, &rank) : NULL;
    if (from == NULL) {
        refuse(net, peer, message);
        return;
    }
    char *rows_here = malloc(bytes);
    if (rows_here == NULL) {
        tern__net_lack(net, "to answer a rank of another machine");
        return;
    }
    for (uint64_t row = 0; row < rows; row++) {
        tern__memcpy(rows_here + row * row_bytes, from + row * message->more, row_bytes);
    }
    struct tern__net_message got = {.kind = TERN__NET_GOT_BLOCK,
                                    .key = message->key,
                                    .bytes = bytes};
    tern__net_answer_own(net, peer, &got, rows_here);
}

// Answered.

static struct tern__net_get *find_get(struct tern__net *net,
                                      const struct tern__net_message *message)
{
    return message->key < TERN__NET_GETS ? &net->gets[message->key] : NULL;
}

static char *got_place(struct tern__net *net, int peer, const struct tern__net_message *message)
{
    const struct tern__net_get *get = find_get(net, message);
    (void)peer;
    bool wanted = get != NULL && tern__flag_load(&get->state) == TERN__GET_ASKED &&
                  get->bytes == message->bytes; // partner: tern__net_fetch
    return wanted ? get->to : tern__net_nowhere;
}

static void finish(struct tern__net *net, struct tern__net_get *get, bool refused)
{
    if (get == NULL || tern__flag_swap(&get->state, TERN__GET_GIVEN_UP, TERN__GET_FREE)) {
        return;
    }
    tern__flag_swap(&get->state, TERN__GET_ASKED, refused ? TERN__GET_REFUSED : TERN__GET_HERE);
    tern__bell_ring(&net->job->ctl->ranks[net->job->rank].bell); // partner: has_come
}

static void got(struct tern__net *net, int peer, const struct tern__net_message *message,
                const char *payload)
{
    (void)peer;
    (void)payload;
    finish(net, find_get(net, message), message->word != 0);
}

static void got_block(struct tern__net *net, int peer, const struct tern__net_message *message,
                      const char *payload)
{
    struct tern__net_get *get = find_get(net, message);
    (void)peer;
    if (get != NULL && tern__flag_load(&get->state) == TERN__GET_ASKED &&
        get->bytes == message->bytes) {
        for (uint64_t at = 0, row = 0; at < get->bytes; at += get->row_bytes, row++) {
            tern__memcpy(get->to + row * get->stride_bytes, payload + at, get->row_bytes);
        }
    }
    finish(net, get, false);
}

void tern__net_get_start(struct tern__net *net)
{
    tern__net_handle(net, TERN__NET_GET,
                     (struct tern__net_handler){.done = get_asked, .loose = true});
    tern__net_handle(net, TERN__NET_GET_BLOCK,
                     (struct tern__net_handler){.done = block_asked, .loose = true});
    tern__net_handle(net, TERN__NET_GOT,
                     (struct tern__net_handler){.place = got_place, .done = got});
    tern__net_handle(net, TERN__NET_GOT_BLOCK, (struct tern__net_handler){.done = got_block});
}
