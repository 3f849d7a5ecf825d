// SPDX-License-Identifier: Apache-2.0
// Picks of ranks, compared.

#include "sync/selected.h"

#include <stdio.h>
#include <string.h>

#include "sync/far.h"

// Who has selected first, if otherwise; 0: itself, or somebody who has selected the same.
static uint64_t other_selected(struct tern__ctl_comm *shared, const struct tern__selected *selected,
                               bool *is_first)
{
    _Static_assert(TERN_RANKS_MAX < 255, "a rank and one have 8 bits");
    uint64_t mine = selected->digest << 8 | (uint64_t)(unsigned)(selected->rank + 1);
    uint64_t first = 0;
    *is_first = atomic_compare_exchange_strong(&shared->selected[selected->kind], &first, mine);
    return *is_first || first >> 8 == mine >> 8 ? 0 : first;
}

static void say_other(const struct tern__selected *selected, const char *first, char *text,
                      size_t size)
{
    snprintf(
        text, size,
        "%s would select other algorithms or sizes for %s than %s: its choice is that of '%s'; "
        "all ranks of a job need the same tune file, TERN_ALGO, TERN_AGREE and TERN_DIRECT",
        selected->rank_name, selected->kind_name, first, selected->source);
}

int tern__group_selected(struct tern__group *group, uint32_t kind, const char *kind_name,
                         uint64_t digest, const char *source)
{
    if (kind >= TERN__SELECTED) {
        return TERN_OK;
    }
    bool is_first;
    struct tern__selected selected = {.kind = kind, .rank = group->rank, .digest = digest};
    snprintf(selected.kind_name, sizeof selected.kind_name, "%s", kind_name);
    snprintf(selected.rank_name, sizeof selected.rank_name, "%s",
             tern__rank_name(group, group->rank).text);
    snprintf(selected.source, sizeof selected.source, "%s", source);
    uint64_t first = other_selected(group->shared, &selected, &is_first);
    if (is_first && group->away != 0 && group->job->far != NULL) {
        group->job->far->selected(group, &selected);
    }
    if (first == 0) {
        return TERN_OK;
    }
    char text[TERN__FAILURE_BYTES];
    say_other(&selected, tern__rank_name(group, (int)(first & 255) - 1).text, text, sizeof text);
    return tern__group_fail(group, TERN_ERR_MISMATCH, group->rank, "%s", text);
}

void tern__ctl_selected(struct tern__ctl *ctl, int slot, const struct tern__selected *selected)
{
    bool is_first;
    uint64_t first = selected->kind < TERN__SELECTED
                         ? other_selected(&ctl->comms[slot], selected, &is_first)
                         : 0;
    if (first != 0) {
        char name[24];
        char text[TERN__FAILURE_BYTES];
        snprintf(name, sizeof name, "rank %d", (int)(first & 255) - 1);
        say_other(selected, name, text, sizeof text);
        tern__ctl_comm_fail(ctl, slot, TERN_ERR_MISMATCH, selected->rank, text);
    }
}
