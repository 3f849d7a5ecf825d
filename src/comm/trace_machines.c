// SPDX-License-Identifier: Apache-2.0
// Clocks are compared in exchanges, which are barriers: whoever leaves one does so after each other
// rank has come to it. If s came at t of its clock, and r left at u of its own, then r's clock was
// at most u when s's was t; and the other way round. Several exchanges make the bounds narrow, as
// far as messages are fast, and they hold however slow one of them was.

#include "comm/trace_machines.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

// What a rank says in an exchange: when it came to this one, and when it left the one before.
struct moment {
    int64_t came_ns;
    int64_t left_ns;
};

// What the clock of rank 0's machine is ahead of another one, at least and at most.
struct bounds {
    int64_t least_ns, most_ns;
};

static void list_machines(const struct tern__group *group, struct tern__trace_clocks *clocks)
{
    const struct tern__machines *machines = group->job->machines;
    int index[TERN_RANKS_MAX];
    memset(index, -1, sizeof index);
    for (int rank = 0; machines != NULL && rank < group->size; rank++) {
        int machine = machines->of[group->members[rank]];
        if (index[machine] < 0) {
            index[machine] = clocks->machines.count++;
            clocks->list[index[machine]].name = machines->list[machine].name;
        }
        clocks->of[rank] = (uint8_t)index[machine];
        clocks->list[index[machine]].ranks |= UINT64_C(1) << rank;
    }
    if (clocks->machines.count == 1) {
        clocks->machines.count = 0;
    }
    clocks->machines.clock_of = "rank 0";
    clocks->machines.list = clocks->list;
}

// Between two exchanges; left[]: when the ranks left the first one.
static void narrow(const struct tern__group *group, const struct tern__trace_clocks *clocks,
                   const struct moment *came, const struct moment *left, struct bounds *bounds)
{
    for (int r = 0; r < group->size; r++) {
        for (int s = 0; s < group->size && clocks->of[r] == 0; s++) {
            struct bounds *to = &bounds[clocks->of[s]];
            int64_t least_ns = came[r].came_ns - left[s].left_ns;
            int64_t most_ns = left[r].left_ns - came[s].came_ns;
            to->least_ns = least_ns > to->least_ns ? least_ns : to->least_ns;
            to->most_ns = most_ns < to->most_ns ? most_ns : to->most_ns;
        }
    }
}

static void settle(struct tern__trace_clocks *clocks, const struct bounds *bounds, int64_t now_ns)
{
    for (int i = 0; i < clocks->machines.count; i++) {
        int64_t wide_ns = bounds[i].most_ns - bounds[i].least_ns;
        struct tern__clock_point point = {.answers = TERN__CLOCK_QUESTIONS, .at_ns = now_ns};
        if (i > 0) { // the first is rank 0's own
            point.offset_ns = bounds[i].least_ns + wide_ns / 2;
            point.error_ns = ((wide_ns < 0 ? -wide_ns : wide_ns) + 1) / 2;
            point.at_ns -= point.offset_ns;
        }
        clocks->list[i].clock = tern__clock_line(point, point);
    }
}

int tern__trace_clocks_measure(struct tern__group *group, struct tern__trace_clocks *clocks)
{
    struct moment before[TERN_RANKS_MAX] = {0};
    struct moment now[TERN_RANKS_MAX] = {0};
    struct bounds bounds[TERN_RANKS_MAX];
    struct moment own = {0};
    memset(clocks, 0, sizeof *clocks);
    list_machines(group, clocks);
    for (int i = 0; i < TERN_RANKS_MAX; i++) {
        bounds[i] = (struct bounds){INT64_MIN, INT64_MAX};
    }
    for (int round = 0; round <= TERN__CLOCK_QUESTIONS && clocks->machines.count > 0; round++) {
        own.came_ns = tern__now_ns();
        TERN_TRY(tern__group_exchange(group, TERN__MEETING_TRACE, &own, sizeof own, now));
        own.left_ns = tern__now_ns();
        if (round > 0) {
            narrow(group, clocks, before, now, bounds);
        }
        memcpy(before, now, sizeof before);
    }
    settle(clocks, bounds, own.left_ns);
    return TERN_OK;
}

// The tracks that `count` units are, with their times moved.
static void move_tracks(struct tern__trace_event *units, size_t count,
                        const struct tern__clock_line *clock)
{
    for (size_t at = 0; at < count;) {
        const struct tern__trace_track *track = (const void *)(units + at);
        size_t events = tern__peek(&track->count);
        for (at++; events > 0 && at < count; at++, events--) {
            tern__trace_move(&units[at], clock);
        }
    }
}

int tern__trace_fetch(tern_window *window, int rank, size_t count,
                      const struct tern__trace_clocks *clocks, struct tern__trace_event **units)
{
    struct tern__trace_event *made = malloc((count > 0 ? count : 1) * sizeof *made);
    char *remote;
    int status = made != NULL ? TERN_OK
                              : tern__fail(TERN_ERR_MEMORY,
                                           "tern_trace_end: no memory for the events of all ranks");
    if (status == TERN_OK && count > 0) {
        status =
            tern__window_range(window, "tern_trace_end", rank, 0, count * sizeof *made, &remote);
    }
    if (status == TERN_OK && count > 0) {
        tern__window_xport(window, rank)->get(remote, (char *)made, count * sizeof *made);
        status = tern__window_sent(window, rank);
    }
    if (status != TERN_OK) {
        free(made);
        return status;
    }
    move_tracks(made, count, &clocks->list[clocks->of[rank]].clock);
    *units = made;
    return TERN_OK;
}
