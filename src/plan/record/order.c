// SPDX-License-Identifier: Apache-2.0
// The proof that the bits are used in turn. Signals of a plan count, bits do not. A plan in which
// the k-th wait of a bit waits for its k-th post is what the executor does only if, for every k,
//
//     the k-th wait has ended before the next post is made   (else that post may be lost), and
//     the k-th wait has ended before the next wait begins    (else that may take its post),
//
// by other tasks than these. All tasks are executed once in any order with vector clocks of what
// must have happened (plan/check/clock.h); then both follow by induction over the order in which
// things really happen: the first use out of turn would contradict one of them.
//
// Also found on the way: waits that never end, bits that are left set, tasks of a slave stream
// before the main stream has released it, and slave streams that nobody collects.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/check/clock.h"
#include "plan/record/record.h"

#define CLOCK_BYTES_MAX (UINT64_C(2) << 30)

struct lane {
    struct record_stream *stream;
    uint32_t main; // the lane of the main stream of its rank
    size_t done;
    struct clock *clock;
    uint32_t level; // rounds: crossings of links that came before
    uint32_t next_level;
    bool waits; // until woken
};

// What a post carries to its wait.
struct parcel {
    struct clock *clock;
    uint32_t level;
    bool posted;
};

struct proof {
    struct recording *recording;
    struct lane *lanes;
    uint32_t lanes_count;
    uint32_t *ready;
    uint32_t ready_count;
    struct parcel *parcels; // by bit->signal + use, over all ranks
    struct clock_pool pool;
    struct budget budget;
    bool no_memory;
};

uint32_t tern__record_lane(const struct recording *recording, int rank, int stream)
{
    uint32_t lane = (uint32_t)stream;
    for (int r = 0; r < rank; r++) {
        lane += (uint32_t)recording->ranks[r].streams_count;
    }
    return lane;
}

static void place_text(const struct proof *proof, struct record_use use, char *text, size_t size)
{
    const struct record_stream *stream = proof->lanes[use.lane].stream;
    const struct record_place *place = &stream->tasks[use.index].place;
    snprintf(text, size, "%.255s:%d (rank %d, stream %d)", place->file, place->line, stream->rank,
             stream->number);
}

// Whether a use has ended before the next task of a lane begins.
static bool ended_before(const struct proof *proof, struct record_use use, uint32_t lane)
{
    return use.lane == lane ? use.index < proof->lanes[lane].done
                            : tern__clock_done(proof->lanes[lane].clock, use.lane) > use.index;
}

static void lost(const struct proof *proof, const struct record_bit *bit, size_t k)
{
    char name[96];
    char post[320];
    char last[320];
    char wait[320];
    tern__record_bit_text(bit, name);
    place_text(proof, bit->posts.items[k], post, sizeof post);
    place_text(proof, bit->posts.items[k - 1], last, sizeof last);
    if (k - 1 < bit->waits.count) {
        place_text(proof, bit->waits.items[k - 1], wait, sizeof wait);
    }
    tern__record_finding(TERN_ERR_ARG,
                         "lost notify: %s: the post at %s may come before the wait%s%s has cleared "
                         "the one at %s; posts are not counted",
                         name, post, k - 1 < bit->waits.count ? " at " : "",
                         k - 1 < bit->waits.count ? wait : ", which does not exist,", last);
}

static void swapped(const struct proof *proof, const struct record_bit *bit, size_t k)
{
    char name[96];
    char wait[320];
    char last[320];
    tern__record_bit_text(bit, name);
    place_text(proof, bit->waits.items[k], wait, sizeof wait);
    place_text(proof, bit->waits.items[k - 1], last, sizeof last);
    tern__record_finding(TERN_ERR_ARG,
                         "lost notify: %s: the wait at %s may take the post that the wait at %s is "
                         "for; nothing orders them",
                         name, wait, last);
}

static void do_post(struct proof *proof, uint32_t number, const struct record_task *task)
{
    struct lane *lane = &proof->lanes[number];
    const struct record_bit *bit = task->bit;
    size_t k = task->use;
    if (k > 0 &&
        (k - 1 >= bit->waits.count || !ended_before(proof, bit->waits.items[k - 1], number))) {
        lost(proof, bit, k);
    }
    struct parcel *parcel = &proof->parcels[bit->signal + k];
    parcel->posted = true;
    parcel->level = lane->next_level;
    bool kept = tern__clock_raise(&proof->pool, &lane->clock, number, (uint32_t)lane->done + 1);
    proof->no_memory = proof->no_memory || !kept;
    parcel->clock = tern__clock_hold(lane->clock);
    if (k < bit->waits.count) {
        uint32_t waiter = bit->waits.items[k].lane;
        if (proof->lanes[waiter].waits && proof->lanes[waiter].done == bit->waits.items[k].index) {
            proof->lanes[waiter].waits = false;
            proof->ready[proof->ready_count++] = waiter;
        }
    }
}

// False: it cannot go on.
static bool do_wait(struct proof *proof, uint32_t number, const struct record_task *task)
{
    struct lane *lane = &proof->lanes[number];
    const struct record_bit *bit = task->bit;
    size_t k = task->use;
    struct parcel *parcel = k < bit->posts.count ? &proof->parcels[bit->signal + k] : NULL;
    if (parcel == NULL || !parcel->posted) {
        lane->waits = true;
        return false;
    }
    if (k > 0 && !ended_before(proof, bit->waits.items[k - 1], number)) {
        swapped(proof, bit, k);
    }
    if (!tern__clock_join(&proof->pool, &lane->clock, parcel->clock)) {
        proof->no_memory = true;
    }
    tern__clock_drop(&proof->pool, parcel->clock);
    parcel->clock = NULL;
    lane->level = parcel->level > lane->level ? parcel->level : lane->level;
    lane->next_level = lane->level > lane->next_level ? lane->level : lane->next_level;
    return true;
}

// A task of no bytes may be anywhere. All others of a slave stream run after the begin of the main
// one: before that their buffers are not theirs.
static void check_released(const struct proof *proof, uint32_t number,
                           const struct record_task *task)
{
    const struct lane *lane = &proof->lanes[number];
    bool local_copy = task->kind == RECORD_COPY && task->length == 0;
    if (number == lane->main || local_copy || task->kind == RECORD_WAIT ||
        tern__clock_done(lane->clock, lane->main) > 0) {
        return;
    }
    tern__record_finding(TERN_ERR_ARG,
                         "%.255s:%d: rank %d, stream %d: the task may run before the main stream "
                         "has come to this operation; nothing releases the stream",
                         task->place.file, task->place.line, lane->stream->rank,
                         lane->stream->number);
}

static void do_transfer(struct lane *lane, struct record_task *task)
{
    bool crosses = task->length > 0 &&
                   (task->from.rank != lane->stream->rank || task->to.rank != lane->stream->rank);
    lane->level = lane->next_level;
    if (crosses) {
        task->round =
            (uint16_t)(lane->level < TERN_PLAN_ROUNDS_MAX ? lane->level : TERN_PLAN_ROUNDS_MAX);
        lane->next_level = lane->level + 1;
    } else {
        task->round = (uint16_t)(lane->level > 0 ? lane->level - 1 : 0);
    }
}

static void run_lane(struct proof *proof, uint32_t number)
{
    struct lane *lane = &proof->lanes[number];
    while (lane->done < lane->stream->count) {
        struct record_task *task = &lane->stream->tasks[lane->done];
        if (task->kind == RECORD_WAIT) {
            if (!do_wait(proof, number, task)) {
                return;
            }
            task->round = (uint16_t)(lane->level > 0 ? lane->level - 1 : 0);
        } else {
            check_released(proof, number, task);
            if (task->kind == RECORD_POST) {
                do_post(proof, number, task);
                task->round = (uint16_t)(lane->next_level > 0 ? lane->next_level - 1 : 0);
            } else {
                do_transfer(lane, task);
            }
        }
        lane->done++;
    }
}

// What a lane that cannot go on waits for; NULL: it can, or has ended.
static const struct record_task *stuck_at(const struct lane *lane)
{
    return lane->done < lane->stream->count ? &lane->stream->tasks[lane->done] : NULL;
}

// Lanes that wait for ever. From lane to the lane that would post, as often as there are lanes: it
// is on a cycle, or at a wait that nobody posts for.
static void find_stuck(const struct proof *proof)
{
    size_t stuck = 0;
    const struct lane *where = NULL;
    for (uint32_t i = 0; i < proof->lanes_count; i++) {
        stuck += stuck_at(&proof->lanes[i]) != NULL;
        where = stuck == 1 && where == NULL ? &proof->lanes[i] : where;
    }
    if (where == NULL) {
        return;
    }
    const struct record_task *first = stuck_at(where);
    for (uint32_t i = 0; i < proof->lanes_count && first->use < first->bit->posts.count; i++) {
        where = &proof->lanes[first->bit->posts.items[first->use].lane];
        first = stuck_at(where);
    }
    char name[96];
    char post[320] = "nobody makes that post";
    tern__record_bit_text(first->bit, name);
    if (first->use < first->bit->posts.count) {
        snprintf(post, sizeof post, "it is posted at ");
        place_text(proof, first->bit->posts.items[first->use], post + strlen(post),
                   sizeof post - strlen(post));
    }
    tern__record_finding(TERN_ERR_ARG,
                         "deadlock: %.255s:%d: rank %d, stream %d waits for ever for %s, for the "
                         "%u. time; %s; %zu streams are stuck",
                         first->place.file, first->place.line, where->stream->rank,
                         where->stream->number, name, first->use + 1, post, stuck);
}

// At the end: bits that are set still, and slave streams that the main one does not wait for.
static void find_left(const struct proof *proof)
{
    const struct recording *recording = proof->recording;
    for (int r = 0; r < recording->nranks; r++) {
        for (size_t i = 0; i < recording->ranks[r].bits_count; i++) {
            const struct record_bit *bit = recording->ranks[r].bits[i];
            if (bit->posts.count == bit->waits.count + 1) { // more: lost already
                char name[96];
                char post[320];
                tern__record_bit_text(bit, name);
                place_text(proof, bit->posts.items[bit->waits.count], post, sizeof post);
                tern__record_finding(TERN_ERR_ARG,
                                     "left set: %s: nobody waits for the post at %s, so the next "
                                     "operation begins with the bit set",
                                     name, post);
            }
        }
    }
    for (uint32_t i = 0; i < proof->lanes_count; i++) {
        const struct lane *lane = &proof->lanes[i];
        size_t count = lane->stream->count;
        while (count > 0 && lane->stream->tasks[count - 1].kind == RECORD_COPY &&
               lane->stream->tasks[count - 1].length == 0) {
            count--;
        }
        // A post is the last that a stream does; the main one knows of it by its wait.
        if (i != lane->main && count > 0 &&
            tern__clock_done(proof->lanes[lane->main].clock, i) < count) {
            const struct record_task *task = &lane->stream->tasks[count - 1];
            tern__record_finding(TERN_ERR_ARG,
                                 "%.255s:%d: rank %d, stream %d: the task may run after the main "
                                 "stream has ended; nothing collects the stream",
                                 task->place.file, task->place.line, lane->stream->rank,
                                 lane->stream->number);
        }
    }
}

static void number_uses(struct proof *proof, const struct record_bit *bit, struct record_uses *uses,
                        bool posts)
{
    int rank = posts && bit->peer >= 0 ? bit->peer : bit->owner;
    uint32_t first = tern__record_lane(proof->recording, rank, 0);
    for (size_t i = 0; i < uses->count; i++) {
        uses->items[i].lane += first;
    }
}

// Lanes, and a place for what each post carries. False: no memory.
static bool prepare(struct proof *proof)
{
    struct recording *recording = proof->recording;
    uint32_t uses = 0;
    tern__record_turns(recording);
    for (int r = 0; r < recording->nranks; r++) {
        for (size_t i = 0; i < recording->ranks[r].bits_count; i++) {
            struct record_bit *bit = recording->ranks[r].bits[i];
            bit->signal = uses;
            uses += (uint32_t)(bit->posts.count > bit->waits.count ? bit->posts.count
                                                                   : bit->waits.count);
            number_uses(proof, bit, &bit->posts, true);
            number_uses(proof, bit, &bit->waits, false);
        }
    }
    proof->lanes_count = tern__record_lane(recording, recording->nranks, 0);
    proof->parcels = calloc((size_t)uses + 1, sizeof *proof->parcels);
    proof->lanes = calloc((size_t)proof->lanes_count + 1, sizeof *proof->lanes);
    proof->ready = calloc((size_t)proof->lanes_count + 1, sizeof *proof->ready);
    if (proof->parcels == NULL || proof->lanes == NULL || proof->ready == NULL) {
        return false;
    }
    for (int r = 0; r < recording->nranks; r++) {
        uint32_t first = tern__record_lane(recording, r, 0);
        for (size_t i = 0; i < recording->ranks[r].streams_count; i++) {
            proof->lanes[first + i] =
                (struct lane){.stream = recording->ranks[r].streams[i], .main = first};
            proof->ready[proof->ready_count++] = first + (uint32_t)i;
        }
    }
    return true;
}

int tern__record_prove(struct recording *recording)
{
    struct proof proof = {.recording = recording, .budget = {.left_bytes = CLOCK_BYTES_MAX}};
    proof.pool.budget = &proof.budget;
    if (!prepare(&proof)) {
        return tern__record_finding(TERN_ERR_MEMORY, "not enough memory to prove the notifies");
    }
    while (proof.ready_count > 0 && !proof.no_memory) {
        run_lane(&proof, proof.ready[--proof.ready_count]);
    }
    if (proof.no_memory) {
        return tern__record_finding(TERN_ERR_LIMIT,
                                    "the proof of the notifies takes more than %llu MiB",
                                    (unsigned long long)(CLOCK_BYTES_MAX >> 20));
    }
    find_stuck(&proof);
    if (recording->findings == 0) {
        find_left(&proof);
    }
    return recording->findings == 0 ? TERN_OK : recording->status;
}
