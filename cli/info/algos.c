// SPDX-License-Identifier: Apache-2.0
// `tern info --algos`: asks for every size what would be selected, and prints where the answer
// changes. Sizes are bytes of a rank's whole input or output, whichever is larger (tern/tune.h).

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "info/info.h"
#include "tern/algo.h"
#include "tern/coll.h"
#include "tern/tune.h"

#define COUNT_MAX ((size_t)1 << 40)
#define RANGES_MAX 16

struct range {
    size_t first, last; // count; last of the last one: COUNT_MAX
    tern_coll_choice choice;
};

struct ranges {
    int count;
    struct range ranges[RANGES_MAX];
};

static bool same(const tern_coll_choice *a, const tern_coll_choice *b)
{
    return strcmp(a->algorithm, b->algorithm) == 0 && strcmp(a->way, b->way) == 0 &&
           strcmp(a->why, b->why) == 0;
}

static int ask(tern_coll_kind kind, int nranks, bool windows, size_t count,
               tern_coll_choice *choice)
{
    tern_coll call = {.kind = kind, .count = count, .dtype = TERN_U8, .op = TERN_SUM};
    return tern_coll_select(&call, nranks, windows, choice);
}

// The last count above `low` that is answered as `low` is; `high` is not.
static int last_same(tern_coll_kind kind, int nranks, bool windows, size_t *low, size_t high,
                     const tern_coll_choice *choice)
{
    while (high - *low > 1) {
        tern_coll_choice middle;
        size_t at = *low + (high - *low) / 2;
        int status = ask(kind, nranks, windows, at, &middle);
        if (status != TERN_OK) {
            return status;
        }
        if (same(&middle, choice)) {
            *low = at;
        } else {
            high = at;
        }
    }
    return TERN_OK;
}

// Ranges are found by doubling, and their ends by halving: one that lies between two powers of two
// is missed, but no table has any.
static int find_ranges(tern_coll_kind kind, int nranks, bool windows, struct ranges *found)
{
    size_t first = 1;
    found->count = 0;
    while (found->count < RANGES_MAX) {
        struct range *range = &found->ranges[found->count];
        int status = ask(kind, nranks, windows, first, &range->choice);
        if (status != TERN_OK) {
            return status;
        }
        range->first = first;
        found->count++;
        size_t low = first;
        for (;;) {
            tern_coll_choice next;
            size_t high = 2 * low;
            if (high >= COUNT_MAX) {
                range->last = COUNT_MAX;
                return TERN_OK;
            }
            status = ask(kind, nranks, windows, high, &next);
            if (status != TERN_OK) {
                return status;
            }
            if (same(&next, &range->choice)) {
                low = high;
                continue;
            }
            status = last_same(kind, nranks, windows, &low, high, &range->choice);
            if (status != TERN_OK) {
                return status;
            }
            break;
        }
        range->last = low;
        first = low + 1;
    }
    return TERN_OK;
}

static void print_range(const struct range *range, size_t scale, const char *buffers)
{
    char from[32];
    char to[32];
    snprintf(from, sizeof from, "%zu", range->first * scale);
    snprintf(to, sizeof to, range->last == COUNT_MAX ? "..." : "%zu", range->last * scale);
    printf("  %9s  %-9s  %-8s  %-12s  %-13s  %s\n", from, to, buffers, range->choice.algorithm,
           range->choice.way, range->choice.why);
}

// What is the same for buffers in windows and others is one line.
static int print_ranges(tern_coll_kind kind, int nranks, size_t scale)
{
    struct ranges in_windows;
    struct ranges elsewhere;
    int status = find_ranges(kind, nranks, true, &in_windows);
    status = status == TERN_OK ? find_ranges(kind, nranks, false, &elsewhere) : status;
    if (status != TERN_OK) {
        return status;
    }
    printf("\n  %9s  %-9s  %-8s  %-12s  %-13s  %s\n", "from", "to bytes", "buffers", "algorithm",
           "way", "why");
    int i = 0;
    while (i < in_windows.count && i < elsewhere.count &&
           in_windows.ranges[i].last == elsewhere.ranges[i].last &&
           same(&in_windows.ranges[i].choice, &elsewhere.ranges[i].choice)) {
        print_range(&in_windows.ranges[i++], scale, "any");
    }
    for (int j = i; j < in_windows.count; j++) {
        print_range(&in_windows.ranges[j], scale, "windows");
    }
    for (int j = i; j < elsewhere.count; j++) {
        print_range(&elsewhere.ranges[j], scale, "others");
    }
    return TERN_OK;
}

static int print_kind(tern_coll_kind kind, int nranks)
{
    tern_coll_choice choice;
    const tern_kind_facts *facts = tern_coll_kind_facts(kind);
    bool shares = facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
    printf("%s, %d %s\n", tern_coll_kind_name(kind), nranks, nranks == 1 ? "rank" : "ranks");
    bool moves = kind != TERN_COLL_BARRIER;
    printf("  %-18s %s%s\n", "algorithm", moves ? "in place  " : "", "how");
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        bool in_place = tern_algo_in_place(kind, i);
        printf("  %-18s %-*s%s\n", tern_algo_name(kind, i), moves ? 10 : 0,
               !moves     ? ""
               : in_place ? "yes"
                          : "no",
               tern_algo_text(kind, i));
    }
    if (kind != TERN_COLL_BARRIER) {
        return print_ranges(kind, nranks, shares ? (size_t)nranks : 1);
    }
    int status = ask(kind, nranks, true, 0, &choice);
    if (status == TERN_OK) {
        printf("\n  selected: %s, %s: %s\n", choice.algorithm, choice.way, choice.why);
    }
    return status;
}

int cli_info_algos(int kind, int nranks)
{
    const tern_kind_facts *facts = tern_coll_kind_facts((tern_coll_kind)kind);
    if (facts != NULL && facts->plan < 0) {
        printf("%s has no algorithms: messages go through mailboxes in shared memory\n",
               facts->word);
        return TERN_OK;
    }
    if (facts != NULL) {
        if (facts->counts) {
            printf("%s has the algorithms of %s; a call whose shares fit into a slot goes through "
                   "slots\n\n",
                   facts->word, tern_plan_kind_name((tern_plan_kind)facts->plan));
        }
        return print_kind((tern_coll_kind)facts->plan, nranks);
    }
    int status = TERN_OK;
    for (int k = 0; status == TERN_OK && k < TERN_PLAN_KINDS; k++) {
        status = print_kind((tern_coll_kind)k, nranks);
        puts(k < TERN_PLAN_KINDS - 1
                 ? ""
                 : "\nSizes are bytes of a rank's whole input or output, "
                   "whichever is larger. In place: whether the plan is right\n"
                   "when out is the memory of in; if not, a call in place is "
                   "staged (goes in pieces through slots), also with buffers in windows.");
    }
    return status;
}
