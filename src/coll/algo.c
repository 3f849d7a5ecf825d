// SPDX-License-Identifier: Apache-2.0
// The table of algorithms, and what it says of them by name. Set-up path.

#include "coll/algo.h"

#include <stdio.h>
#include <string.h>

#include "base/kind.h"
#include "coll/coll.h"
#include "coll/executor.h"

#define IN_PLACE true
#define APART false
#define SCALES true
#define SIZED false

static const struct tern__algo algorithms[] = {
#define TERN_ALGO(kind, name, emit, order, need, nranks_min, in_place, scales, text)               \
    {TERN_COLL_##kind, name,     text,  tern__emit_##emit, TERN_ORDER_##order, TERN__NEED_##need,  \
     nranks_min,       in_place, scales},
#include "coll/algo.def"
#undef TERN_ALGO
};

enum { ALGORITHMS = sizeof algorithms / sizeof algorithms[0] };

const struct tern__algo *tern__algo_row(tern_plan_kind kind, int index)
{
    for (int i = 0; i < ALGORITHMS && index >= 0; i++) {
        if (algorithms[i].kind == kind && index-- == 0) {
            return &algorithms[i];
        }
    }
    return NULL;
}

const char *tern_algo_name(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = tern__algo_row(kind, index);
    return row != NULL ? row->name : NULL;
}

const char *tern_algo_text(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = tern__algo_row(kind, index);
    return row != NULL ? row->text : NULL;
}

bool tern_algo_around_cut(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = tern__algo_row(kind, index);
    return row != NULL && row->need == TERN__NEED_ALL_BUT_A_PAIR;
}

bool tern_algo_across_machines(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = tern__algo_row(kind, index);
    return row != NULL && tern__algo_needs_machines(row);
}

static bool is_optimal(tern_plan_kind kind, const char *name, size_t length)
{
    return kind != TERN_PLAN_BARRIER && length == strlen(TERN_ALGO_OPTIMAL) &&
           memcmp(name, TERN_ALGO_OPTIMAL, length) == 0;
}

const char *tern__algo_find(tern_plan_kind kind, const char *text, size_t length)
{
    const struct tern__algo *row;
    for (int i = 0; (row = tern__algo_row(kind, i)) != NULL; i++) {
        if (strlen(row->name) == length && memcmp(row->name, text, length) == 0) {
            return row->name;
        }
    }
    return is_optimal(kind, text, length) ? TERN_ALGO_OPTIMAL : NULL;
}

int tern__algo_index(tern_plan_kind kind, const char *name)
{
    int index = 0;
    const struct tern__algo *row;
    while ((row = tern__algo_row(kind, index)) != NULL && strcmp(row->name, name) != 0) {
        index++;
    }
    if (row == NULL && is_optimal(kind, name, strlen(name))) {
        return index; // the number behind the last one
    }
    bool known = row != NULL || tern__executor_name(kind, name, strlen(name)) != NULL;
    return !known ? -1 : row != NULL ? index : index + 1; // all executors have the next
}

bool tern__algo_is_beyond(tern_plan_kind kind, const char *name)
{
    int index = tern__algo_index(kind, name);
    return index >= 0 && tern__algo_row(kind, index) == NULL;
}

const char *tern__algo_at(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = tern__algo_row(kind, index);
    bool behind = row == NULL && index > 0 && tern__algo_row(kind, index - 1) != NULL;
    return row != NULL ? row->name : behind && kind != TERN_PLAN_BARRIER ? TERN_ALGO_OPTIMAL : NULL;
}

void tern__algo_unknown(tern_plan_kind kind, const char *name, size_t length, char *text,
                        size_t size)
{
    int shown = length > 40 ? 40 : (int)length;
    int used = snprintf(text, size, "there is no algorithm '%.*s' for %s; there are", shown, name,
                        tern_plan_kind_name(kind));
    const struct tern__algo *row;
    for (int i = 0; (row = tern__algo_row(kind, i)) != NULL && (size_t)used < size; i++) {
        used += snprintf(text + used, size - (size_t)used, "%s %s", i > 0 ? "," : "", row->name);
    }
    if (kind != TERN_PLAN_BARRIER && (size_t)used < size) {
        snprintf(text + used, size - (size_t)used, ", %s", TERN_ALGO_OPTIMAL);
    }
}

bool tern__algo_scales(tern_plan_kind kind, const char *name)
{
    const struct tern__algo *row = tern__algo_row(kind, tern__algo_index(kind, name));
    return row != NULL && row->scales;
}

// The others of rank order hand partial sums on.
bool tern__algo_whole(tern_plan_kind kind, const char *name)
{
    const struct tern__algo *row = tern__algo_row(kind, tern__algo_index(kind, name));
    return row != NULL && row->order == TERN_ORDER_RANK &&
           row->need != TERN__NEED_MACHINES_IN_ORDER;
}

bool tern_algo_in_place(tern_plan_kind kind, int index)
{
    const struct tern__algo *row = tern__algo_row(kind, index);
    return row != NULL && row->in_place;
}
