// SPDX-License-Identifier: Apache-2.0
// Cutting and slowing links, slowing resources. A call changes all it names or nothing.

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

// The edit of a pair; NULL without memory for it. Keeps the list ascending.
static struct tern__topo_edit *edit_of(tern_topo *topo, int from, int to)
{
    struct tern__topo_edit fresh = {from < to ? from : to, from < to ? to : from, 1, 1};
    int place = tern__topo_place_of(topo, fresh.low, fresh.high);
    if (tern__topo_stands_at(topo, place, fresh.low, fresh.high)) {
        return &topo->edits[place];
    }
    if (topo->edit_count == topo->edit_room) {
        int room = topo->edit_room > 0 ? 2 * topo->edit_room : 4;
        struct tern__topo_edit *edits = realloc(topo->edits, (size_t)room * sizeof *edits);
        if (edits == NULL) {
            tern__fail(TERN_ERR_MEMORY, "no memory for %d changed links", room);
            return NULL;
        }
        topo->edits = edits;
        topo->edit_room = room;
    }
    memmove(topo->edits + place + 1, topo->edits + place,
            (size_t)(topo->edit_count - place) * sizeof fresh);
    topo->edits[place] = fresh;
    topo->edit_count++;
    return &topo->edits[place];
}

// Applies the factor to one direction, or says why not.
static int apply_one(tern_topo *topo, struct tern__topo_edit *pair, const char *links, int from,
                     int to, double factor)
{
    double *old = from < to ? &pair->up : &pair->down;
    tern_link made;
    if (!tern__topo_made(topo, from, to, &made)) {
        return tern__fail(TERN_ERR_ARG, "'%.100s': %.200s has no link %d>%d", links, topo->word,
                          from, to);
    }
    if (!(*old > 0)) {
        return tern__fail(TERN_ERR_ARG, "'%.100s': link %d>%d is already cut", links, from, to);
    }
    double product = *old * factor;
    if (factor > 0 && !(product >= TERN_TOPO_FACTOR_MIN && product <= TERN_TOPO_FACTOR_MAX)) {
        return tern__fail(
            TERN_ERR_ARG,
            "'%.100s': link %d>%d would be changed by %g in all; all factors together "
            "must be from %g to %g",
            links, from, to, product, TERN_TOPO_FACTOR_MIN, TERN_TOPO_FACTOR_MAX);
    }
    *old = product;
    topo->link_count -= factor > 0 ? 0 : 1;
    return TERN_OK;
}

// "NAME=F"; false when there is no resource of the name.
static bool read_resource(const tern_topo *topo, const char *at, struct edit *edit)
{
    char name[TERN_TOPO_RESOURCE_NAME_BYTES] = "";
    size_t length = strcspn(at, "=");
    if (length >= sizeof name) {
        return false;
    }
    memcpy(name, at, length);
    edit->from = TERN__TOPO_RESOURCE;
    edit->to = tern__topo_resource_index(topo, name);
    edit->both = false;
    at += length;
    return edit->to >= 0 && *at++ == '=' && tern__topo_read_number(&at, &edit->factor) &&
           *at == '\0';
}

static int slow_resource(tern_topo *topo, const char *text, const struct edit *edit)
{
    struct tern__topo_edit *kept = edit_of(topo, edit->from, edit->to);
    if (kept == NULL) {
        return TERN_ERR_MEMORY;
    }
    double old = kept->up;
    kept->up *= edit->factor;
    int status = TERN_OK;
    if (!(kept->up >= TERN_TOPO_FACTOR_MIN && kept->up <= TERN_TOPO_FACTOR_MAX)) {
        status = tern__fail(TERN_ERR_ARG,
                            "'%.100s': the resource would be changed by %g in all; all factors "
                            "together must be from %g to %g",
                            text, kept->up, TERN_TOPO_FACTOR_MIN, TERN_TOPO_FACTOR_MAX);
    } else {
        status = tern__topo_retell(topo);
    }
    kept->up = status < 0 ? old : kept->up;
    return status;
}

static int apply(tern_topo *topo, const char *links, const struct edit *edit)
{
    TERN_TRY(check_ranks(topo, links, edit));
    // A remembered pair that then stays as it was is harmless: the text does not mention it.
    struct tern__topo_edit *pair = edit_of(topo, edit->from, edit->to);
    if (pair == NULL) {
        return TERN_ERR_MEMORY;
    }
    struct tern__topo_edit old = *pair;
    int64_t old_count = topo->link_count;
    int status = apply_one(topo, pair, links, edit->from, edit->to, edit->factor);
    if (status == TERN_OK && edit->both) {
        status = apply_one(topo, pair, links, edit->to, edit->from, edit->factor);
    }
    if (status == TERN_OK) {
        status = tern__topo_retell(topo);
    }
    if (status != TERN_OK) {
        *pair = old;
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
        return tern__topo_resource_index(topo, links) >= 0
                   ? tern__fail(TERN_ERR_ARG,
                                "'%.100s' is a resource; it can be slowed, and links that use it "
                                "cut",
                                links)
                   : tern__fail(TERN_ERR_ARG,
                                "'%.100s' is no link to cut; 0-1 cuts both directions, 0>1 that "
                                "one",
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
    bool resource = false;
    if (!read_edit(links, true, &edit) && !(resource = read_resource(topo, links, &edit))) {
        tern_topo_resource first;
        bool any = tern_topo_get_resource(topo, 0, &first);
        return tern__fail(TERN_ERR_ARG,
                          "'%.100s' is no link to slow; 0-1=0.5 halves the bandwidth in both "
                          "directions, 0>1=0.5 in that one%s%s%s",
                          links, any ? ", and " : "", any ? first.name : "",
                          any ? "=0.5 that of a resource" : "");
    }
    if (!(edit.factor >= TERN_TOPO_FACTOR_MIN && edit.factor <= TERN_TOPO_FACTOR_MAX)) {
        return tern__fail(
            TERN_ERR_ARG,
            "'%.100s': the factor must be from %g to %g; tern_topo_cut (--cut) takes a "
            "link away",
            links, TERN_TOPO_FACTOR_MIN, TERN_TOPO_FACTOR_MAX);
    }
    return resource ? slow_resource(topo, links, &edit) : apply(topo, links, &edit);
}

int tern_topo_slow(tern_topo *topo, const char *links)
{
    return TERN__CALL(topo_slow(topo, links));
}
