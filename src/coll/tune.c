// SPDX-License-Identifier: Apache-2.0
// The choice of an algorithm: the call, TERN_ALGO, the tune file, the built-in table.

#include "coll/tune.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/kind.h"
#include "base/options.h"
#include "coll/executor.h"

static int no_such_algorithm(tern_plan_kind kind, const char *name, size_t length,
                             const char *where)
{
    char why[400];
    tern__algo_unknown(kind, name, length, why, sizeof why);
    return tern__fail(TERN_ERR_ARG, "%s%s", where, why);
}

static int show_length(size_t length)
{
    return length > 40 ? 40 : (int)length;
}

static int kind_of_word(const char *text, size_t length, tern_plan_kind *kind)
{
    char word[TERN__ALGO_BYTES];
    snprintf(word, sizeof word, "%.*s", show_length(length), text);
    int status = tern_plan_kind_parse(word, kind); // for its sentence, also when the word was cut
    if (length >= sizeof word || status != TERN_OK) {
        return tern__fail(TERN_ERR_ARG, "TERN_ALGO: %s", tern_last_error());
    }
    return TERN_OK;
}

// One part of TERN_ALGO, KIND:NAME or NAME. What it says about `kind`, if anything, goes to *name;
// all of it is checked, so that a wrong word does not wait for its kind.
static int read_part(const char *part, size_t length, tern_plan_kind kind, const char **name,
                     bool *specific)
{
    const char *colon = memchr(part, ':', length);
    if (colon != NULL) {
        tern_plan_kind said;
        const char *rest = colon + 1;
        size_t rest_length = length - (size_t)(rest - part);
        TERN_TRY(kind_of_word(part, (size_t)(colon - part), &said));
        const char *found = tern__algo_find(said, rest, rest_length);
        found = found != NULL ? found : tern__executor_name(said, rest, rest_length);
        if (found == NULL) {
            return no_such_algorithm(said, rest, rest_length, "TERN_ALGO: ");
        }
        if (said == kind) {
            *name = found;
            *specific = true;
        }
        return TERN_OK;
    }
    bool somewhere = false;
    for (int i = 0; i < TERN_PLAN_KINDS; i++) {
        somewhere = somewhere || tern__algo_find((tern_plan_kind)i, part, length) != NULL;
    }
    if (!somewhere) {
        return tern__fail(TERN_ERR_ARG,
                          "TERN_ALGO: no kind of collective has an algorithm '%.*s'; 'tern info "
                          "--algos' lists them, and KIND:ALGORITHM,... sets them one by one",
                          show_length(length), part);
    }
    const char *found = tern__algo_find(kind, part, length);
    if (found != NULL && !*specific) {
        *name = found;
    }
    return TERN_OK;
}

// *name: what TERN_ALGO says about the kind; NULL when nothing.
static int read_environment(tern_plan_kind kind, const char **name)
{
    const char *text = getenv("TERN_ALGO");
    bool specific = false;
    *name = NULL;
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        TERN_TRY(read_part(text, length, kind, name, &specific));
        text += length;
        if (*text == ',' && *++text == '\0') {
            return tern__fail(TERN_ERR_ARG, "TERN_ALGO ends with a comma: what comes after it?");
        }
    }
    return TERN_OK;
}

static int read_agree(bool *strict)
{
    const char *word = getenv("TERN_AGREE");
    *strict = word != NULL && strcmp(word, "strict") == 0;
    return word == NULL || *word == '\0' || *strict || strcmp(word, "early") == 0
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG, "TERN_AGREE is '%.40s'; it must be early or strict",
                            word);
}

int tern_tune_check(void)
{
    const char *name;
    bool strict;
    TERN_TRY(read_agree(&strict));
    return read_environment(TERN_PLAN_ALL_REDUCE, &name); // it reads every word, whatever its kind
}

static void set_all(struct tern__choice *choice, const char *name)
{
    snprintf(choice->small, sizeof choice->small, "%s", name);
    snprintf(choice->window, sizeof choice->window, "%s", name);
    snprintf(choice->staged, sizeof choice->staged, "%s", name);
    choice->named = true;
}

int tern__select(tern_plan_kind kind, int nranks, tern_order order, const char *algorithm,
                 struct tern__choice *choice)
{
    (void)order; // every table holds algorithms of rank order, which suit both
    const char *demanded = NULL;
    if (algorithm != NULL && tern__algo_index(kind, algorithm) < 0) {
        return no_such_algorithm(kind, algorithm, strlen(algorithm), "");
    }
    TERN_TRY(read_environment(kind, &demanded));
    struct tern__choice made;
    uint64_t from;
    TERN_TRY(tern__tune_look_up(kind, nranks, &made));
    TERN_TRY(read_agree(&made.strict));
    TERN_TRY(tern__direct_option(&from));
    if (from != TERN__DIRECT_ON && from != TERN__DIRECT_OFF && kind != TERN_PLAN_BARRIER) {
        made.direct_from = from;
        made.direct_to = 0;
        made.direct_named = true;
        made.direct_learned = false;
    }
    if (algorithm != NULL) {
        set_all(&made, algorithm);
        snprintf(made.source, sizeof made.source, "the call names it");
    } else if (demanded != NULL) {
        set_all(&made, demanded);
        snprintf(made.source, sizeof made.source, "TERN_ALGO=%.70s", getenv("TERN_ALGO"));
    }
    *choice = made;
    return TERN_OK;
}
