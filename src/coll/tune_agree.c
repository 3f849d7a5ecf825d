// SPDX-License-Identifier: Apache-2.0
// Ranks that pick differently are found out here. The first rank that comes leaves a digest of its
// choice; every other one compares.

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/tune.h"
#include "comm/comm.h"

#define DIGEST_BITS 56 // that travel

static uint64_t digest_of(const struct tern__choice *choice)
{
    uint64_t hash = TERN__DIGEST_EMPTY;
    hash = tern__digest_add(hash, choice->small, strlen(choice->small) + 1);
    hash = tern__digest_add(hash, choice->window, strlen(choice->window) + 1);
    hash = tern__digest_add(hash, choice->staged, strlen(choice->staged) + 1);
    hash = tern__digest_add(hash, &choice->small_bytes, sizeof choice->small_bytes);
    hash = tern__digest_add(hash, &choice->chunk_bytes, sizeof choice->chunk_bytes);
    hash = tern__digest_add(hash, &choice->direct_from, sizeof choice->direct_from);
    hash = tern__digest_add(hash, &choice->direct_to, sizeof choice->direct_to);
    hash = tern__digest_add(hash, choice->named ? "n" : "t", 1); // then other orders are accepted
    hash = tern__digest_add(hash, choice->strict ? "s" : "e", 1);
    return hash >> (64 - DIGEST_BITS);
}

// "up to 4096 bytes one_shot; above, fused where all buffers are in windows, else staged in pieces
// of …"
static void choice_text(tern_plan_kind kind, const struct tern__choice *choice, char *text,
                        size_t size)
{
    char small[80] = "";
    unsigned long long piece = choice->chunk_bytes;
    if (kind == TERN_PLAN_BARRIER) {
        snprintf(text, size, "%s", choice->window);
        return;
    }
    if (choice->small_bytes > 0) {
        snprintf(small, sizeof small, "up to %llu bytes %s; above, ",
                 (unsigned long long)choice->small_bytes, choice->small);
    }
    if (strcmp(choice->window, choice->staged) == 0) {
        snprintf(text, size, "%s%s, outside windows in pieces of %llu bytes", small, choice->window,
                 piece);
    } else {
        snprintf(text, size,
                 "%s%s where all buffers are in windows, else %s in pieces of %llu bytes", small,
                 choice->window, choice->staged, piece);
    }
}

// Once per communicator and kind. A group without a job stands for one that somebody only asks
// about.
static void tell(const struct tern__group *group, tern_plan_kind kind,
                 const struct tern__choice *choice)
{
    enum tern__log_level level = group->rank == 0 ? TERN__LOG_INFO : TERN__LOG_DEBUG;
    char text[256];
    if (group->job != NULL && tern__log_enabled(level)) {
        choice_text(kind, choice, text, sizeof text);
        tern__log(level, "communicator %d of %d rank%s selects for %s: %s (%s)", group->slot,
                  group->size, group->size == 1 ? "" : "s", tern_plan_kind_name(kind), text,
                  choice->source);
    }
}

int tern__choice_agree(struct tern__group *group, tern_plan_kind kind,
                       const struct tern__choice *choice)
{
    _Static_assert(TERN_RANKS_MAX < 255, "a rank and one have 8 bits");
    uint64_t mine = digest_of(choice) << 8 | (uint64_t)(unsigned)(group->rank + 1);
    uint64_t first = 0;
    if ((unsigned)kind >= TERN__PICKS ||
        atomic_compare_exchange_strong(&group->shared->picks[kind], &first, mine) ||
        first >> 8 == mine >> 8) {
        tell(group, kind, choice);
        return TERN_OK;
    }
    return tern__group_fail(
        group, TERN_ERR_MISMATCH, group->rank,
        "%s would pick other algorithms or sizes for %s than %s: its "
        "choice is that of '%s'; all ranks of a job need the same tune file, TERN_ALGO, "
        "TERN_AGREE and TERN_DIRECT",
        tern__rank_name(group, group->rank).text, tern_plan_kind_name(kind),
        tern__rank_name(group, (int)(first & 255) - 1).text, choice->source);
}
