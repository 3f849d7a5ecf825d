// SPDX-License-Identifier: Apache-2.0
// A topology as text: its word, then the cuts, then the slowed links, each ascending by rank pair
// and "A-B" where both directions agree, then the slowed resources by number. Equal topologies of
// one word have equal texts. What a shell would not leave alone (a '>' among others) stands in
// single quotes.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "topo/topo.h"

#define EDIT_BYTES 128 // of the longest: both directions of a pair slowed, each by 17 digits

static bool plain_for_a_shell(const char *word)
{
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_./:@%+=,-");
    return plain > 0 && word[plain] == '\0';
}

static char *quote(char *at, const char *word)
{
    *at++ = '\'';
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            memcpy(at, "'\\''", 4);
            at += 4;
        } else {
            *at++ = *word;
        }
    }
    *at++ = '\'';
    return at;
}

static char *tell_cuts(char *at, const struct tern__topo_edit *edit)
{
    if (!(edit->up > 0) && !(edit->down > 0)) {
        return at + sprintf(at, " --cut %d-%d", edit->low, edit->high);
    }
    if (!(edit->up > 0)) {
        at += sprintf(at, " --cut '%d>%d'", edit->low, edit->high);
    }
    if (!(edit->down > 0)) {
        at += sprintf(at, " --cut '%d>%d'", edit->high, edit->low);
    }
    return at;
}

static char *tell_slow(char *at, const struct tern__topo_edit *edit)
{
    double up = edit->up;
    double down = edit->down;
    char number[32];
    if (up == down && up > 0 && up != 1) {
        tern__topo_write_number(up, number);
        return at + sprintf(at, " --slow %d-%d=%s", edit->low, edit->high, number);
    }
    if (up > 0 && up != 1) {
        tern__topo_write_number(up, number);
        at += sprintf(at, " --slow '%d>%d=%s'", edit->low, edit->high, number);
    }
    if (down > 0 && down != 1) {
        tern__topo_write_number(down, number);
        at += sprintf(at, " --slow '%d>%d=%s'", edit->high, edit->low, number);
    }
    return at;
}

static char *tell_resource(char *at, const tern_topo *topo, const struct tern__topo_edit *edit)
{
    tern_topo_resource resource;
    char number[32];
    if (edit->up == 1 || !tern_topo_get_resource(topo, edit->high, &resource)) {
        return at;
    }
    tern__topo_write_number(edit->up, number);
    return at + sprintf(at, " --slow %s=%s", resource.name, number);
}

int tern__topo_retell(tern_topo *topo)
{
    size_t bytes = 4 * strlen(topo->word) + 3 + (size_t)topo->edit_count * EDIT_BYTES;
    char *text = malloc(bytes);
    if (text == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the text of a topology");
    }
    char *at = plain_for_a_shell(topo->word) ? stpcpy(text, topo->word) : quote(text, topo->word);
    *at = '\0';
    int links = 0; // of resources come first
    while (links < topo->edit_count && topo->edits[links].low == TERN__TOPO_RESOURCE) {
        links++;
    }
    for (int i = links; i < topo->edit_count; i++) {
        at = tell_cuts(at, &topo->edits[i]);
    }
    for (int i = links; i < topo->edit_count; i++) {
        at = tell_slow(at, &topo->edits[i]);
    }
    for (int i = 0; i < links; i++) {
        at = tell_resource(at, topo, &topo->edits[i]);
    }
    char *fitted = realloc(text, (size_t)(at - text) + 1);
    free(topo->text);
    topo->text = fitted != NULL ? fitted : text;
    return TERN_OK;
}
