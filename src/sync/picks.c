// SPDX-License-Identifier: Apache-2.0
// Picks of ranks, compared.

#include "sync/picks.h"

#include <stdio.h>
#include <string.h>

#include "sync/far.h"

// Who has picked first, if it has picked otherwise; 0: itself, or somebody who has picked the same.
static uint64_t other_pick(struct tern__ctl_comm *shared, const struct tern__pick *pick,
                           bool *is_first)
{
    _Static_assert(TERN_RANKS_MAX < 255, "a rank and one have 8 bits");
    uint64_t mine = pick->digest << 8 | (uint64_t)(unsigned)(pick->rank + 1);
    uint64_t first = 0;
    *is_first = atomic_compare_exchange_strong(&shared->picks[pick->kind], &first, mine);
    return *is_first || first >> 8 == mine >> 8 ? 0 : first;
}

static void word(const struct tern__pick *pick, const char *first, char *text, size_t size)
{
    snprintf(text, size,
             "%s would pick other algorithms or sizes for %s than %s: its choice is that of '%s'; "
             "all ranks of a job need the same tune file, TERN_ALGO, TERN_AGREE and TERN_DIRECT",
             pick->rank_name, pick->kind_name, first, pick->source);
}

int tern__group_pick(struct tern__group *group, uint32_t kind, const char *kind_name,
                     uint64_t digest, const char *source)
{
    if (kind >= TERN__PICKS) {
        return TERN_OK;
    }
    bool is_first;
    struct tern__pick pick = {.kind = kind, .rank = group->rank, .digest = digest};
    snprintf(pick.kind_name, sizeof pick.kind_name, "%s", kind_name);
    snprintf(pick.rank_name, sizeof pick.rank_name, "%s", tern__rank_name(group, group->rank).text);
    snprintf(pick.source, sizeof pick.source, "%s", source);
    uint64_t first = other_pick(group->shared, &pick, &is_first);
    if (is_first && group->away != 0 && group->job->far != NULL) {
        group->job->far->picked(group, &pick);
    }
    if (first == 0) {
        return TERN_OK;
    }
    char text[TERN__FAILURE_BYTES];
    word(&pick, tern__rank_name(group, (int)(first & 255) - 1).text, text, sizeof text);
    return tern__group_fail(group, TERN_ERR_MISMATCH, group->rank, "%s", text);
}

void tern__ctl_pick(struct tern__ctl *ctl, int slot, const struct tern__pick *pick)
{
    bool is_first;
    uint64_t first = pick->kind < TERN__PICKS ? other_pick(&ctl->comms[slot], pick, &is_first) : 0;
    if (first != 0) {
        char name[24];
        char text[TERN__FAILURE_BYTES];
        snprintf(name, sizeof name, "rank %d", (int)(first & 255) - 1);
        word(pick, name, text, sizeof text);
        tern__ctl_comm_fail(ctl, slot, TERN_ERR_MISMATCH, pick->rank, text);
    }
}
