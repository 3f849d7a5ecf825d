// SPDX-License-Identifier: Apache-2.0
// Cutting and slowing links. A call changes all it names or nothing.

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "topo/topo.h"

struct edit {
    int from;
    int to;
    bool both;
    double factor;
};

// "A-B" or "A>B", and "=F" when wanted. Nothing behind it.
static bool read_edit(const char *at, bool wants_factor, struct edit *edit)
{
    if (!tern__topo_read_whole(&at, &edit->from) || (*at != '-' && *at != '>')) {
        return false;
    }
    edit->both = *at++ == '-';
    if (!tern__topo_read_whole(&at, &edit->to)) {
        return false;
    }
    if (wants_factor && (*at++ != '=' || !tern__topo_read_number(&at, &edit->factor))) {
        return false;
    }
    return *at == '\0';
}

static int check_ranks(const tern_topo *topo, const char *links, const struct edit *edit)
{
    int worst = edit->from > edit->to ? edit->from : edit->to;
    if (worst >= topo->size) {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s': rank %d%s does not exist; %.200s has ranks 0 to %d", links,
                          worst, worst == INT_MAX ? " or more" : "", topo->word, topo->size - 1);
    }
    if (edit->from == edit->to) {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s': a rank's link to itself can be neither cut nor slowed", links);
    }
    return TERN_OK;
}

// Applies the factor to one direction, or says why not.
static int apply_one(tern_topo *topo, const char *links, int from, int to, double factor)
{
    struct tern__topo_cell *cell = tern__topo_cell(topo, from, to);
    if (!(cell->GBps > 0)) {
        return tern__fail(TERN_ERR_ARG, "'%.100s': %.200s has no link %d>%d", links, topo->word,
                          from, to);
    }
    if (!(cell->factor > 0)) {
        return tern__fail(TERN_ERR_ARG, "'%.100s': link %d>%d is already cut", links, from, to);
    }
    double product = cell->factor * factor;
    if (factor > 0 && !(product >= TERN_TOPO_FACTOR_MIN && product <= TERN_TOPO_FACTOR_MAX)) {
        return tern__fail(
            TERN_ERR_ARG,
            "'%.100s': link %d>%d would be changed by %g in all; all factors together "
            "must be from %g to %g",
            links, from, to, product, TERN_TOPO_FACTOR_MIN, TERN_TOPO_FACTOR_MAX);
    }
    cell->factor = product;
    topo->link_count -= factor > 0 ? 0 : 1;
    return TERN_OK;
}

// Keeps the list of edited pairs ascending and without repetition.
static int remember(tern_topo *topo, int from, int to)
{
    struct tern__topo_pair pair = {from < to ? from : to, from < to ? to : from};
    int place = 0;
    for (int end = topo->edit_count; place < end;) {
        int middle = place + (end - place) / 2;
        struct tern__topo_pair seen = topo->edits[middle];
        if (seen.low == pair.low && seen.high == pair.high) {
            return TERN_OK;
        }
        bool before = seen.low < pair.low || (seen.low == pair.low && seen.high < pair.high);
        place = before ? middle + 1 : place;
        end = before ? end : middle;
    }
    if (topo->edit_count == topo->edit_room) {
        int room = topo->edit_room > 0 ? 2 * topo->edit_room : 4;
        struct tern__topo_pair *edits = realloc(topo->edits, (size_t)room * sizeof *edits);
        if (edits == NULL) {
            return tern__fail(TERN_ERR_MEMORY, "no memory for %d changed links", room);
        }
        topo->edits = edits;
        topo->edit_room = room;
    }
    memmove(topo->edits + place + 1, topo->edits + place,
            (size_t)(topo->edit_count - place) * sizeof pair);
    topo->edits[place] = pair;
    topo->edit_count++;
    return TERN_OK;
}

static int apply(tern_topo *topo, const char *links, const struct edit *edit)
{
    TERN_TRY(check_ranks(topo, links, edit));
    // A remembered pair that then stays as it was is harmless: the text does not mention it.
    TERN_TRY(remember(topo, edit->from, edit->to));
    struct tern__topo_cell *there = tern__topo_cell(topo, edit->from, edit->to);
    struct tern__topo_cell *back = tern__topo_cell(topo, edit->to, edit->from);
    struct tern__topo_cell old_there = *there;
    struct tern__topo_cell old_back = *back;
    int old_count = topo->link_count;
    int status = apply_one(topo, links, edit->from, edit->to, edit->factor);
    if (status == TERN_OK && edit->both) {
        status = apply_one(topo, links, edit->to, edit->from, edit->factor);
    }
    if (status == TERN_OK) {
        status = tern__topo_retell(topo);
    }
    if (status != TERN_OK) {
        *there = old_there;
        *back = old_back;
        topo->link_count = old_count;
    }
    return status;
}

static int topo_cut(tern_topo *topo, const char *links)
{
    TERN_TRY(tern__handle_check("tern_topo_cut", topo, TERN__TOPO));
    if (links == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_topo_cut: links must not be NULL");
    }
    struct edit edit = {.factor = 0};
    if (!read_edit(links, false, &edit)) {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s' is no link to cut; 0-1 cuts both directions, 0>1 that one",
                          links);
    }
    return apply(topo, links, &edit);
}

int tern_topo_cut(tern_topo *topo, const char *links)
{
    return TERN__CALL(topo_cut(topo, links));
}

static int topo_slow(tern_topo *topo, const char *links)
{
    TERN_TRY(tern__handle_check("tern_topo_slow", topo, TERN__TOPO));
    if (links == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_topo_slow: links must not be NULL");
    }
    struct edit edit = {.factor = 1};
    if (!read_edit(links, true, &edit)) {
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s' is no link to slow; 0-1=0.5 halves the bandwidth in both "
                          "directions, 0>1=0.5 in that one",
                          links);
    }
    if (!(edit.factor >= TERN_TOPO_FACTOR_MIN && edit.factor <= TERN_TOPO_FACTOR_MAX)) {
        return tern__fail(
            TERN_ERR_ARG,
            "'%.100s': the factor must be from %g to %g; tern_topo_cut (--cut) takes a "
            "link away",
            links, TERN_TOPO_FACTOR_MIN, TERN_TOPO_FACTOR_MAX);
    }
    return apply(topo, links, &edit);
}

int tern_topo_slow(tern_topo *topo, const char *links)
{
    return TERN__CALL(topo_slow(topo, links));
}
