// SPDX-License-Identifier: Apache-2.0
// A copy that two processes make at once.

#include "sync/help.h"

#include <sched.h>

#include "base/clock.h"

// Pieces are whole pages, and so few that the word has room.
#define PIECE_MOST (UINT64_C(1) << 20)
#define PIECES_MOST 1000
#define PAGE UINT64_C(4096)

// The word: pieces of the front, of the back, of all.
enum { BACK_AT = 10, COUNT_AT = 20, FIELD = (1 << 10) - 1 };
_Static_assert(PIECES_MOST < FIELD, "has room");

static uint64_t piece_of(uint64_t bytes)
{
    uint64_t piece = bytes / 4 < PIECE_MOST ? bytes / 4 : PIECE_MOST;
    piece = piece < bytes / PIECES_MOST ? bytes / PIECES_MOST : piece;
    return (piece + PAGE - 1) / PAGE * PAGE;
}

static uint32_t front_of(uint32_t claims)
{
    return claims & FIELD;
}

static uint32_t back_of(uint32_t claims)
{
    return claims >> BACK_AT & FIELD;
}

static bool is_left(uint32_t claims)
{
    return front_of(claims) + back_of(claims) < claims >> COUNT_AT;
}

// One more piece, at a place of the word, if one is left: what the word is then; else 0.
static uint32_t claim(struct tern__help *help, int at)
{
    uint32_t claims;
    do {
        claims = tern__flag_load(&help->claims);
        if (!is_left(claims)) {
            return 0;
        }
    } while (!tern__flag_swap(&help->claims, claims, claims + (1U << at))); // partner: itself
    return claims + (1U << at);
}

static bool read_range(const struct tern__group *group, int rank, const struct tern__help *help,
                       uint64_t begin, uint64_t end, struct tern__unread *unread)
{
    uint64_t stop = end < help->bytes ? end : help->bytes;
    return tern__reach_copy(group, rank, (char *)(uintptr_t)help->to + begin, help->from + begin,
                            stop - begin, unread);
}

// The front, as far as the owner leaves it.
static bool read_front(const struct tern__group *group, int rank, struct tern__help *help,
                       struct tern__unread *unread)
{
    uint64_t piece = piece_of(help->bytes);
    uint32_t claims;
    while ((claims = claim(help, 0)) != 0) {
        uint64_t end = front_of(claims) * piece;
        if (!read_range(group, rank, help, end - piece, end, unread)) {
            return false;
        }
    }
    return true;
}

static int end(const struct tern__group *group, int rank, struct tern__help *help, bool right)
{
    if (!right) {
        tern__help_leave(group, rank, help, tern__now_ns() + TERN__HELP_LEAVE_NS);
        return -1;
    }
    tern__poke(&help->claims, 0); // the owner may claim nothing any more
    return 1;
}

static struct tern__bell *bell_of(const struct tern__group *group, int rank)
{
    return &group->job->ctl->ranks[group->members[rank]].bell;
}

void tern__help_open(const struct tern__group *group, int rank, struct tern__help *help,
                     const char *to, uint64_t from, uint64_t bytes)
{
    uint64_t count = (bytes + piece_of(bytes) - 1) / piece_of(bytes);
    help->to = (uintptr_t)to;
    help->from = from;
    help->bytes = bytes;
    tern__poke(&help->given, TERN__GIVEN_NOT_YET);
    tern__flag_store(&help->claims, (uint32_t)count << COUNT_AT); // partner: claim
    tern__bell_ring(bell_of(group, rank));
}

int tern__help_read(const struct tern__group *group, int rank, char *to, uint64_t from,
                    uint64_t bytes, struct tern__help *help, struct tern__unread *unread)
{
    if (tern__peek(&help->claims) == 0) {
        tern__help_open(group, rank, help, to, from, bytes);
    }
    if (!read_front(group, rank, help, unread)) {
        return end(group, rank, help, false);
    }
    uint32_t back = back_of(tern__peek(&help->claims)); // all are claimed
    if (back > 0 && !tern__help_is_over(help)) {
        return 0;
    }
    bool right = true;
    if (back > 0 && tern__peek(&help->given) == TERN__GIVEN_NONE) {
        uint64_t begin = (tern__peek(&help->claims) >> COUNT_AT) - back;
        begin *= piece_of(bytes);
        right = read_range(group, rank, help, begin, bytes, unread);
    }
    right = right && tern__reach_counts(group, rank, from, unread);
    return end(group, rank, help, right);
}

bool tern__help_waits(const struct tern__help *help, const char *to)
{
    return tern__help_is_for(help, to) && !is_left(tern__peek(&help->claims));
}

void tern__help_leave(const struct tern__group *group, int rank, struct tern__help *help,
                      int64_t until_ns)
{
    if (tern__peek(&help->claims) == 0) {
        return;
    }
    while (claim(help, 0) != 0) {
    }
    while (back_of(tern__peek(&help->claims)) > 0 && !tern__help_is_over(help) &&
           !tern__reach_has_ended(group, rank) && tern__now_ns() < until_ns) {
        sched_yield(); // to the owner, perhaps
    }
    tern__poke(&help->claims, 0);
}

bool tern__help_is_wanted(const struct tern__help *help)
{
    // partner: tern__help_open. Who could not write a piece does not try another one.
    return is_left(tern__flag_load(&help->claims)) &&
           tern__peek(&help->given) == TERN__GIVEN_NOT_YET;
}

bool tern__help_give(const struct tern__group *group, int rank, struct tern__help *help)
{
    uint32_t claims = tern__help_is_wanted(help) ? claim(help, BACK_AT) : 0;
    if (claims == 0) {
        return false;
    }
    bool written = true;
    for (; claims != 0 && written; claims = claim(help, BACK_AT)) {
        uint64_t piece = piece_of(help->bytes);
        uint64_t begin = ((claims >> COUNT_AT) - back_of(claims)) * piece;
        uint64_t end = begin + piece < help->bytes ? begin + piece : help->bytes;
        written = tern__flag_load(&group->shared->failed) == TERN__WORKING &&
                  tern__reach_write(group, rank, help->to + begin,
                                    (const char *)(uintptr_t)help->from + begin, end - begin);
    }
    // partner: tern__help_is_over
    tern__flag_store(&help->given, written ? TERN__GIVEN_ALL : TERN__GIVEN_NONE);
    tern__bell_ring(bell_of(group, rank));
    return true;
}
