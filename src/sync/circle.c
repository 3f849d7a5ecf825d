// SPDX-License-Identifier: Apache-2.0
// Circles of waits (circle.h). What ranks show may be a moment old or half written: names get an
// end, and nothing else of it is an index.

#include "sync/circle.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINK_WORDS = sizeof(struct tern__wait_link) / 8, TEXT_WORDS = TERN__RUNS_TEXT_BYTES / 8 };

#define LINKS_MOST ((size_t)(TERN_RANKS_MAX * TERN__LINKS))

// Link i of the job is link i % TERN__LINKS of rank i / TERN__LINKS.
struct search {
    const struct tern__ctl *ctl;
    int links;
    bool seen[LINKS_MOST];
    bool on_path[LINKS_MOST];
    uint16_t path[LINKS_MOST]; // each waits for what the next one notifies
    uint16_t next[LINKS_MOST]; // of a link on the path: the first that has not been tried
    int depth;
};

void tern__links_show(struct tern__job *job, const struct tern__wait_link *links, int count)
{
    _Atomic uint64_t *words = job->ctl->ranks[job->rank].runs + TEXT_WORDS;
    for (int i = 0; i < TERN__LINKS; i++) {
        uint64_t from[LINK_WORDS] = {0};
        if (i < count) {
            memcpy(from, &links[i], sizeof from);
        }
        for (int k = 0; k < LINK_WORDS; k++) {
            atomic_store_explicit(words++, from[k], memory_order_relaxed);
        }
    }
}

// False: there is none.
static bool read_link(const struct tern__ctl *ctl, int number, struct tern__wait_link *link)
{
    const struct tern__ctl_rank *slot = &ctl->ranks[number / TERN__LINKS];
    const _Atomic uint64_t *words =
        slot->runs + TEXT_WORDS + (size_t)(number % TERN__LINKS) * LINK_WORDS;
    uint64_t read[LINK_WORDS];
    for (int k = 0; k < LINK_WORDS; k++) {
        read[k] = atomic_load_explicit(&words[k], memory_order_relaxed);
    }
    memcpy(link, read, sizeof *link);
    link->waits[TERN__LINK_TASK_BYTES - 1] = '\0';
    link->notifies[TERN__LINK_TASK_BYTES - 1] = '\0';
    return tern__peek(&slot->state) == TERN__RANK_ACTIVE &&
           tern__peek(&slot->doing) == TERN__DOING_HELD && link->notifies[0] != '\0';
}

// Whether link `one`, of the rank, waits for what the other notifies.
static bool waits_for(const struct tern__wait_link *one, int rank,
                      const struct tern__wait_link *other)
{
    return one->waits_at == other->notifies_at && one->waits_window == other->notifies_window &&
           one->waits_slot == other->notifies_slot &&
           (other->rank == TERN__LINK_ALL || other->rank == rank);
}

static void step_to(struct search *search, int link)
{
    search->seen[link] = true;
    search->on_path[link] = true;
    search->next[search->depth] = 0;
    search->path[search->depth++] = (uint16_t)link;
}

// Goes from a link to those that it waits for, and back from what leads nowhere. Returns where on
// the path the circle begins, or -1.
static int find_from(struct search *search, int start)
{
    struct tern__wait_link here;
    struct tern__wait_link other;
    search->depth = 0;
    step_to(search, start);
    while (search->depth > 0) {
        const int top = search->path[search->depth - 1];
        bool found = false;
        read_link(search->ctl, top, &here);
        while (search->next[search->depth - 1] < search->links && !found) {
            const int to = search->next[search->depth - 1]++;
            if ((search->seen[to] && !search->on_path[to]) || !read_link(search->ctl, to, &other) ||
                !waits_for(&here, top / TERN__LINKS, &other)) {
                continue;
            }
            for (int at = 0; at < search->depth; at++) {
                if (search->path[at] == to) {
                    return at;
                }
            }
            step_to(search, to);
            found = true;
        }
        if (!found) {
            search->on_path[top] = false;
            search->depth--;
        }
    }
    return -1;
}

// A rank of the job, as the group calls it.
static void rank_text(const struct tern__group *group, int member, char *text, size_t size)
{
    snprintf(text, size, "rank %d of the job", member);
    for (int rank = 0; rank < group->size; rank++) {
        if (group->members[rank] == member) {
            snprintf(text, size, "%s", tern__rank_name(group, rank).text);
        }
    }
}

// "byte 8 of window 0", with the communicator if it is another than the group.
static void place_text(const struct tern__group *group, const struct tern__wait_link *link,
                       char *text, size_t size)
{
    int used = snprintf(text, size, "byte %llu of window %u", (unsigned long long)link->waits_at,
                        link->waits_window);
    if (link->waits_slot != group->slot) {
        snprintf(text + used, size - (size_t)used, " of communicator %d", link->waits_slot);
    }
}

static size_t describe(const struct tern__group *group, const struct search *search, int begin,
                       char *text, size_t size)
{
    struct tern__wait_link link;
    struct tern__wait_link next;
    char rank[48];
    char place[80];
    const int count = search->depth - begin;
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        const int at = search->path[begin + i];
        const int to = search->path[begin + (i + 1) % count];
        if (used + 256 > size) {
            return used + (size_t)snprintf(text + used, size - used,
                                           "; and so on, %d waits in this circle", count);
        }
        read_link(search->ctl, at, &link);
        read_link(search->ctl, to, &next);
        place_text(group, &link, place, sizeof place);
        rank_text(group, at / TERN__LINKS, rank, sizeof rank);
        if (i == 0) {
            used += (size_t)snprintf(text, size, "task '%s' of %s", link.waits, rank);
        } else if (link.same) {
            used += (size_t)snprintf(text + used, size - used, "; '%s'", link.notifies);
        } else {
            used += (size_t)snprintf(text + used, size - used, "; '%s' comes after '%s', which",
                                     link.notifies, link.waits);
        }
        rank_text(group, to / TERN__LINKS, rank, sizeof rank);
        used += (size_t)snprintf(text + used, size - used,
                                 " waits for %s, which task '%s' of %s notifies", place,
                                 next.notifies, rank);
        if (i == count - 1 && !next.same) {
            used += (size_t)snprintf(text + used, size - used, "; '%s' comes after '%s'",
                                     next.notifies, next.waits);
        }
    }
    return used;
}

size_t tern__circle_text(const struct tern__group *group, char *text, size_t size)
{
    const struct tern__job *job = group->job;
    struct tern__wait_link link;
    struct search search = {.ctl = job->ctl, .links = job->nranks * TERN__LINKS};
    for (int i = 0; i < search.links && size > 256; i++) {
        const int start = (job->rank * TERN__LINKS + i) % search.links;
        if (search.seen[start] || !read_link(job->ctl, start, &link)) {
            continue;
        }
        const int begin = find_from(&search, start);
        if (begin >= 0) {
            const size_t length = describe(group, &search, begin, text, size);
            return length < size ? length : size - 1;
        }
    }
    return 0;
}
