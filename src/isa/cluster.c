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

struct cluster_wait {
    const struct tern__cluster *cluster;
    uint32_t lane;
    struct side sides[2]; // whose counts are added
    uint32_t wanted;
    const char *what; // "flag", "counter"
    int number;
    bool hopeless;
};

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

static int await(const char *call, struct cluster_wait *awaited)
{
    const struct tern__block *here = tern__block_here();
    if (is_over(awaited) && !awaited->hopeless) {
        return TERN_OK;
    }
    struct tern__ladder ladder = tern__ladder_for(INT_MAX, 1);
    struct tern__wait wait = {.bell = &here->cluster->bell,
                              .ladder = &ladder,
                              .holds = is_over,
                              .broken = tern__never_broken,
                              .arg = awaited};
    TERN_TRY(tern__timeout_option(0, &wait.timeout_ns));
    int status = tern__ladder_climb(&wait);
    if (status == TERN_OK && !awaited->hopeless) {
        return TERN_OK;
    }
    if (status != TERN_OK && status != TERN_ERR_TIMEOUT) {
        return status;
    }
    char text[200], after[40] = "for ever";
    describe(awaited, text, sizeof text);
    if (status == TERN_ERR_TIMEOUT) {
        snprintf(after, sizeof after, "since %.3g s", (double)wait.timeout_ns * 1e-9);
    }
    return tern__fail(status == TERN_OK ? TERN_ERR_KERNEL : status,
                      "%s: %s of block %d of '%s' waits %s until %s %d has come to %u: %s", call,
                      lane_names[here->lane], here->index, here->kernel, after, awaited->what,
                      awaited->number, awaited->wanted, text);
}

// The words of these lanes, each at the place that `word` has in the caller's.
static struct side side_of(const struct tern__block *here, uint32_t lanes,
                           const _Atomic uint32_t *word)
{
    struct side side = {{NULL}};
    const struct tern__cluster_lane *own = &here->cluster->lane[here->lane];
    size_t offset = (size_t)((const char *)word - (const char *)own);
    for (int lane = 0; lane < TERN__CLUSTER_LANES; lane++) {
        if ((lanes >> lane & 1) != 0) {
            const char *begin = (const char *)&here->cluster->lane[lane];
            side.words[lane] = (const _Atomic uint32_t *)(const void *)(begin + offset);
        }
    }
    return side;
}

static uint32_t others_of(const struct tern__block *here)
{
    return here->cluster->lanes & (here->lane == 0 ? 6u : 1u);
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
    struct cluster_wait awaited = {
        .cluster = here->cluster,
        .lane = (uint32_t)here->lane,
        .sides = {side_of(here, others_of(here), &own->set[flag]),
                  side_of(here, here->lane != 0 ? here->cluster->lanes & 6u : 0, &own->met[flag])},
        .wanted = own->waited[flag] + 1,
        .what = "flag",
        .number = flag};
    tern__poke(&here->cluster->used, 1);
    TERN_TRY(await(call, &awaited));
    own->waited[flag]++;
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
    const struct tern__cluster_lane *own = &here->cluster->lane[here->lane];
    struct cluster_wait awaited = {.cluster = here->cluster,
                                   .lane = (uint32_t)here->lane,
                                   .sides = {side_of(here, others_of(here), &own->posted[counter])},
                                   .wanted = entries,
                                   .what = "counter",
                                   .number = counter};
    return await(call, &awaited);
}

int tern_cluster_await(int counter, uint32_t entries)
{
    return TERN__CALL(await_counter(counter, entries));
}
