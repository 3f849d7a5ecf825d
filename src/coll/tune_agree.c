// SPDX-License-Identifier: Apache-2.0
// What a rank selects, as a digest, which the ranks compare (sync/selected.h), and as text.

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/tune.h"
#include "comm/comm.h"
#include "sync/selected.h"

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
    hash = tern__digest_add(hash, choice->direct_learned ? "l" : "t", 1);
    for (int i = 0; i < 4; i++) {
        const struct tern__far_choice *far = &choice->far[i / 2][i % 2];
        hash = tern__digest_add(hash, &far->small_bytes, sizeof far->small_bytes);
        hash = tern__digest_add(hash, far->large, strlen(far->large) + 1);
        hash = tern__digest_add(hash, &far->piece_bytes, sizeof far->piece_bytes);
    }
    hash = tern__digest_add(hash, choice->named ? "n" : "t", 1); // then other orders are accepted
    hash = tern__digest_add(hash, choice->strict ? "s" : "e", 1);
    return hash >> (64 - TERN__SELECTED_BITS);
}

// "up to 4096 bytes one_shot; above, fused where all buffers are in windows, else staged in pieces
// of …"
static void choice_text(tern_plan_kind kind, const struct tern__choice *choice, char *text,
                        size_t size)
{
    char small[80] = "";
    unsigned long long piece = choice->chunk_bytes;
    const struct tern__far_choice *far = &choice->far[TERN_ORDER_RANK][0];
    uint64_t small_bytes = far->large[0] != '\0' ? far->small_bytes : choice->small_bytes;
    if (kind == TERN_PLAN_BARRIER) {
        snprintf(text, size, "%s", choice->window);
        return;
    }
    if (small_bytes > 0) {
        snprintf(small, sizeof small, "up to %llu bytes %s; above, ",
                 (unsigned long long)small_bytes, choice->small);
    }
    if (far->large[0] != '\0') {
        snprintf(text, size, "%s%s in pieces of %llu bytes, between machines", small, far->large,
                 (unsigned long long)far->piece_bytes);
    } else if (strcmp(choice->window, choice->staged) == 0) {
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
    TERN_TRY(tern__group_selected(group, (uint32_t)kind, tern_plan_kind_name(kind),
                                  digest_of(choice), choice->source));
    tell(group, kind, choice);
    return TERN_OK;
}
