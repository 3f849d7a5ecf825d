// SPDX-License-Identifier: Apache-2.0
// Flags and counters between the cores of a cluster. Data path: no lock, system call or log, unless
// a core sleeps.

#include "isa/cluster.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"
#include "base/public.h"
#include "isa/block.h"
#include "sync/ladder.h"

static const char *const lane_names[TERN__CLUSTER_LANES] = {"the AIC", "the first AIV",
                                                            "the second AIV"};

void tern__cluster_enter(struct tern__cluster *cluster, int lane)
{
    struct tern__block *here = tern__block_here();
    here->cluster = cluster;
    here->lane = lane;
}

void tern__cluster_leave(void)
{
    struct tern__block *here = tern__block_here();
    struct tern__cluster *cluster = here->cluster;
    here->cluster = NULL;
    atomic_fetch_or(&cluster->ended, 1u << here->lane); // partner: is_over
    tern__bell_ring(&cluster->bell);
    tern__flag_add(&cluster->users, UINT32_MAX); // partner: tern__cluster_begin
}

int tern_cluster_lane(void)
{
    const struct tern__block *here = tern__block_here();
    return here->cluster != NULL ? here->lane : -1;
}

int tern_cluster_vectors(void)
{
    const struct tern__cluster *cluster = tern__block_here()->cluster;
    return cluster != NULL ? __builtin_popcount(cluster->lanes >> 1) : 0;
}

int tern__cluster_check(const char *call, const char *what, int number, int numbers)
{
    if (tern__block_here()->cluster == NULL) {
        return tern__fail(
            TERN_ERR_STATE,
            "%s: the caller is no kernel of a mixed task (TERN_CORE_MIX), so there is "
            "no other core to meet",
            call);
    }
    return number >= 0 && number < numbers
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "%s: there is no %s %d; they are 0 to %d", call, what,
                            number, numbers - 1);
}

// What kernels together have counted is the least of their words, or 0 if there are none.
struct side {
    const _Atomic uint32_t *words[TERN__CLUSTER_LANES]; // NULL: of another lane
};

enum { FLAG, COUNTER };
static const char *const kind_names[] = {"flag", "counter"};

struct cluster_wait {
    const struct tern__cluster *cluster;
    uint32_t lane;
    struct side sides[2]; // whose counts are added
    uint32_t wanted;
    int kind, number;
    bool hopeless;
};

// The words of these lanes that are so far behind the beginning of a lane.
static struct side side_of(const struct tern__cluster *cluster, uint32_t lanes, size_t offset)
{
    struct side side = {{NULL}};
    for (int lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
        if ((cluster->lanes & lanes & 1u << lane) != 0) {
            const char *begin = (const char *)&cluster->lane[lane];
            side.words[lane] = (const _Atomic uint32_t *)(const void *)(begin + offset);
        }
    }
    return side;
}

static struct cluster_wait wait_of(const struct tern__cluster *cluster, uint32_t lane, int kind,
                                   int number, uint32_t wanted)
{
    uint32_t others = lane == 0 ? 6u : 1u, vectors = lane == 0 ? 0u : 6u;
    size_t word = (size_t)number * sizeof(uint32_t);
    struct cluster_wait awaited = {
        .cluster = cluster, .lane = lane, .wanted = wanted, .kind = kind, .number = number};
    if (kind == FLAG) {
        awaited.sides[0] =
            side_of(cluster, others, offsetof(struct tern__cluster_lane, set) + word);
        awaited.sides[1] =
            side_of(cluster, vectors, offsetof(struct tern__cluster_lane, met) + word);
    } else {
        awaited.sides[0] =
            side_of(cluster, others, offsetof(struct tern__cluster_lane, posted) + word);
    }
    return awaited;
}

static bool is_in(const struct cluster_wait *awaited, int lane)
{
    return awaited->sides[0].words[lane] != NULL || awaited->sides[1].words[lane] != NULL;
}

// The least among the lanes of these bits; `none` where there is no such lane.
static uint32_t least_of(const struct side *side, uint32_t lanes, uint32_t none)
{
    uint32_t least = none;
    bool any = false;
    for (uint32_t lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
        if (side->words[lane] != NULL && (lanes >> lane & 1) != 0) {
            uint32_t word = tern__flag_load(side->words[lane]);
            least = !any || word < least ? word : least;
            any = true;
        }
    }
    return least;
}

static uint32_t counted(const struct cluster_wait *awaited)
{
    return least_of(&awaited->sides[0], UINT32_MAX, 0) +
           least_of(&awaited->sides[1], UINT32_MAX, 0);
}

// What it can still become: kernels that have ended count no more, nor does who waits.
static bool can_come(const struct cluster_wait *awaited, uint32_t ended)
{
    uint64_t most = 0;
    for (int i = 0; i < 2; i++) {
        bool any = false;
        for (int lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
            any = any || awaited->sides[i].words[lane] != NULL;
        }
        most += any ? least_of(&awaited->sides[i], ended | 1u << awaited->lane, UINT32_MAX) : 0;
    }
    return most >= awaited->wanted;
}

// Who has ended is read first: what it counted before is then seen, too.
static bool is_over(void *arg)
{
    struct cluster_wait *awaited = arg;
    uint32_t ended = tern__flag_load(&awaited->cluster->ended); // partner: tern__cluster_leave
    if (counted(awaited) >= awaited->wanted) {
        return true;
    }
    awaited->hopeless = !can_come(awaited, ended);
    return awaited->hopeless;
}

// "the AIC 3, the first AIV 2 (its kernel has ended)"
static void describe(const struct cluster_wait *awaited, char *text, size_t size)
{
    uint32_t ended = tern__flag_load(&awaited->cluster->ended);
    size_t used = 0;
    text[0] = '\0';
    for (int lane = 0; lane < TERN__CLUSTER_LANES && used < size; lane++) {
        if (!is_in(awaited, lane)) {
            continue;
        }
        uint32_t count = 0;
        for (int i = 0; i < 2; i++) {
            const _Atomic uint32_t *word = awaited->sides[i].words[lane];
            count += word != NULL ? tern__flag_load(word) : 0;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s %u%s", used > 0 ? ", " : "",
                                 lane_names[lane], count,
                                 (ended >> lane & 1) != 0 ? " (its kernel has ended)" : "");
    }
    if (used == 0) {
        snprintf(text, size, "the task has no kernel that counts it");
    }
}

// In one word: what is wanted, the number, the kind, and which wait this is, so that no two are
// the same.
static uint64_t word_of(const struct cluster_wait *awaited, uint32_t waits)
{
    return UINT64_C(1) << 63 | (uint64_t)(waits & 0xffffff) << 39 | (uint64_t)awaited->kind << 38 |
           (uint64_t)awaited->number << 32 | awaited->wanted;
}

static struct cluster_wait wait_in(const struct tern__cluster *cluster, uint32_t lane,
                                   uint64_t word)
{
    return wait_of(cluster, lane, (int)(word >> 38 & 1), (int)(word >> 32 & 0x3f), (uint32_t)word);
}

// Whether all kernels that have not ended wait, each for what the others do not count meanwhile:
// all have waited from before the look at what is counted until after it.
static bool is_circle(const struct tern__cluster *cluster)
{
    uint64_t words[TERN__CLUSTER_LANES];
    uint32_t ended = tern__flag_load(&cluster->ended);
    uint32_t live = cluster->lanes & ~ended;
    for (uint32_t lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
        words[lane] = (live >> lane & 1) != 0 ? atomic_load(&cluster->lane[lane].awaits) : 1;
        if (words[lane] == 0) {
            return false;
        }
    }
    for (uint32_t lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
        if ((live >> lane & 1) != 0) {
            struct cluster_wait awaited = wait_in(cluster, lane, words[lane]);
            if (counted(&awaited) >= awaited.wanted) {
                return false;
            }
        }
    }
    for (uint32_t lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
        if ((live >> lane & 1) != 0 && atomic_load(&cluster->lane[lane].awaits) != words[lane]) {
            return false;
        }
    }
    return true;
}

static int fail_wait(const char *call, const struct cluster_wait *awaited, int status,
                     const char *how_long, const char *why)
{
    const struct tern__block *here = tern__block_here();
    char text[200];
    describe(awaited, text, sizeof text);
    return tern__fail(status,
                      "%s: %s of block %d of '%s' waits %s until %s %d has come to %u: %s%s", call,
                      lane_names[here->lane], here->index, here->kernel, how_long,
                      kind_names[awaited->kind], awaited->number, awaited->wanted, text, why);
}

struct climb {
    struct cluster_wait *awaited;
    const char *call;
};

static bool is_climb_over(void *arg)
{
    return is_over(((struct climb *)arg)->awaited);
}

static int is_broken(void *arg, bool deep)
{
    const struct climb *climb = arg;
    (void)deep;
    return is_circle(climb->awaited->cluster)
               ? fail_wait(climb->call, climb->awaited, TERN_ERR_KERNEL, "for ever",
                           "; all kernels of the block wait for each other")
               : TERN_OK;
}

static int await(const char *call, struct cluster_wait *awaited)
{
    if (is_over(awaited) && !awaited->hopeless) {
        return TERN_OK;
    }
    struct tern__cluster *cluster = tern__block_here()->cluster;
    struct tern__cluster_lane *own = &cluster->lane[awaited->lane];
    struct tern__ladder ladder = tern__ladder_for(INT_MAX, 1);
    struct tern__wait wait = {.bell = &cluster->bell,
                              .ladder = &ladder,
                              .holds = is_climb_over,
                              .broken = is_broken,
                              .arg = &(struct climb){awaited, call}};
    TERN_TRY(tern__timeout_option(0, &wait.timeout_ns));
    tern__poke(&cluster->used, 1);
    atomic_store(&own->awaits, word_of(awaited, own->waits++)); // partner: is_circle
    int status = tern__ladder_climb(&wait);
    atomic_store(&own->awaits, 0);
    if (status == TERN_ERR_TIMEOUT) {
        char since[40];
        snprintf(since, sizeof since, "since %.3g s", (double)wait.timeout_ns * 1e-9);
        return fail_wait(call, awaited, status, since, "");
    }
    return status == TERN_OK && awaited->hopeless
               ? fail_wait(call, awaited, TERN_ERR_KERNEL, "for ever", "")
               : status;
}

// What the caller has stored is there before the word.
static void count_to(struct tern__cluster *cluster, _Atomic uint32_t *word, uint32_t value)
{
    tern_pipe_barrier(TERN_PIPE_ALL);
    tern__poke(&cluster->used, 1);
    tern__flag_store(word, value); // partner: is_over
    tern__bell_ring(&cluster->bell);
}

static int set(int flag, tern_cluster_mode mode)
{
    TERN_TRY(tern__cluster_check("tern_cluster_set", "flag", flag, TERN_CLUSTER_FLAGS));
    const struct tern__block *here = tern__block_here();
    struct tern__cluster_lane *own = &here->cluster->lane[here->lane];
    if (mode != TERN_CLUSTER_ACROSS && mode != TERN_CLUSTER_VECTORS) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_cluster_set: there is no mode %d; it is 1 (between the AIV of a "
                          "cluster) or 2 (between its AIC and its AIV)",
                          (int)mode);
    }
    if (mode == TERN_CLUSTER_VECTORS && here->lane == 0) {
        return tern__fail(TERN_ERR_ARG, "tern_cluster_set: mode 1 is for the AIV");
    }
    _Atomic uint32_t *word = mode == TERN_CLUSTER_ACROSS ? &own->set[flag] : &own->met[flag];
    count_to(here->cluster, word, tern__peek(word) + 1);
    return TERN_OK;
}

int tern_cluster_set(int flag, tern_cluster_mode mode)
{
    return TERN__CALL(set(flag, mode));
}

static int wait_flag(int flag)
{
    const char *call = "tern_cluster_wait";
    TERN_TRY(tern__cluster_check(call, "flag", flag, TERN_CLUSTER_FLAGS));
    const struct tern__block *here = tern__block_here();
    struct tern__cluster_lane *own = &here->cluster->lane[here->lane];
    struct cluster_wait awaited =
        wait_of(here->cluster, (uint32_t)here->lane, FLAG, flag, own->waited[flag] + 1);
    TERN_TRY(await(call, &awaited));
    own->waited[flag]++;
    tern__poke(&here->cluster->used, 1);
    return TERN_OK;
}

int tern_cluster_wait(int flag)
{
    return TERN__CALL(wait_flag(flag));
}

static int post(int counter, uint32_t entries)
{
    TERN_TRY(tern__cluster_check("tern_cluster_post", "counter", counter, TERN_CLUSTER_COUNTERS));
    const struct tern__block *here = tern__block_here();
    _Atomic uint32_t *word = &here->cluster->lane[here->lane].posted[counter];
    if (entries < tern__peek(word)) {
        return tern__fail(TERN_ERR_ARG, "tern_cluster_post: counter %d is %u already, and not %u",
                          counter, tern__peek(word), entries);
    }
    count_to(here->cluster, word, entries);
    return TERN_OK;
}

int tern_cluster_post(int counter, uint32_t entries)
{
    return TERN__CALL(post(counter, entries));
}

uint32_t tern_cluster_posted(int counter)
{
    const struct tern__block *here = tern__block_here();
    return here->cluster != NULL && counter >= 0 && counter < TERN_CLUSTER_COUNTERS
               ? tern__peek(&here->cluster->lane[here->lane].posted[counter])
               : 0;
}

static int await_counter(int counter, uint32_t entries)
{
    const char *call = "tern_cluster_await";
    TERN_TRY(tern__cluster_check(call, "counter", counter, TERN_CLUSTER_COUNTERS));
    const struct tern__block *here = tern__block_here();
    struct cluster_wait awaited =
        wait_of(here->cluster, (uint32_t)here->lane, COUNTER, counter, entries);
    return await(call, &awaited);
}

int tern_cluster_await(int counter, uint32_t entries)
{
    return TERN__CALL(await_counter(counter, entries));
}
