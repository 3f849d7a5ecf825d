// SPDX-License-Identifier: Apache-2.0
// Ranks in sentences.

#include <stdio.h>
#include <string.h>

#include "sync/group.h"

struct tern__rank_name tern__rank_name(const struct tern__group *group, int rank)
{
    struct tern__rank_name name;
    if (tern__group_is_part(group)) {
        snprintf(name.text, sizeof name.text, "rank %d (%d of the job)", rank,
                 group->members[rank]);
    } else {
        snprintf(name.text, sizeof name.text, "rank %d", rank);
    }
    return name;
}

// " (1, 5 of the job)", with "..." for what does not fit.
static void members_text(const struct tern__group *group, uint64_t ranks, char *text, size_t size)
{
    static const char end[] = ", ... of the job)";
    const char *before = " (";
    size_t used = 0;
    text[0] = '\0';
    for (; ranks != 0 && used + 8 + sizeof end <= size; ranks &= ranks - 1) {
        used += (size_t)snprintf(text + used, size - used, "%s%d", before,
                                 group->members[__builtin_ctzll(ranks)]);
        before = ", ";
    }
    if (used > 0) {
        snprintf(text + used, size - used, "%s", end + (ranks == 0 ? strlen(", ...") : 0));
    }
}

void tern__ranks_text(const struct tern__group *group, uint64_t ranks, char *text, size_t size)
{
    uint64_t all = ranks;
    size_t used = (size_t)snprintf(text, size, (ranks & (ranks - 1)) == 0 ? "rank" : "ranks");
    const char *before = " ";
    while (ranks != 0 && used < size) {
        int first = __builtin_ctzll(ranks);
        uint64_t above = ~(ranks >> first);
        int count = above != 0 ? __builtin_ctzll(above) : 64;
        bool range = count > 2; // "1, 2" is as short as "1..2"
        int last = range ? first + count - 1 : first;
        char words[24];
        snprintf(words, sizeof words, range ? "%s%d..%d" : "%s%d", before, first, last);
        used += (size_t)snprintf(text + used, size - used, "%s", words);
        ranks &= last == 63 ? 0 : UINT64_MAX << (last + 1);
        before = ", ";
    }
    if (tern__group_is_part(group) && used < size) {
        members_text(group, all, text + used, size - used);
    }
}
