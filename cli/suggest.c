// SPDX-License-Identifier: Apache-2.0
// Edit distance with neighbours that may be swapped, over words of a few letters.

#include "suggest.h"

#include <stdio.h>
#include <string.h>

#include "tern/algo.h"
#include "tern/coll.h"
#include "tern/topo.h"

#define LETTERS_MAX 32

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// How many steps lead from one word to the other; LETTERS_MAX for words that are too long.
static size_t count_steps(const char *from, size_t nfrom, const char *to, size_t nto)
{
    size_t steps[LETTERS_MAX + 1][LETTERS_MAX + 1];
    if (nfrom > LETTERS_MAX || nto > LETTERS_MAX) {
        return LETTERS_MAX;
    }
    for (size_t i = 0; i <= nfrom; i++) {
        for (size_t j = 0; j <= nto; j++) {
            if (i == 0 || j == 0) {
                steps[i][j] = i + j;
                continue;
            }
            size_t best = steps[i - 1][j - 1] + (from[i - 1] != to[j - 1]);
            best = least(best, least(steps[i - 1][j], steps[i][j - 1]) + 1);
            if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
                best = least(best, steps[i - 2][j - 2] + 1);
            }
            steps[i][j] = best;
        }
    }
    return steps[nfrom][nto];
}

void cli_nearest_offer(struct cli_nearest *nearest, const char *candidate)
{
    size_t letters = strlen(nearest->word);
    size_t steps = count_steps(nearest->word, letters, candidate, strlen(candidate));
    // A third of the letters may be wrong, and one of two.
    size_t allowed = letters < 6 ? letters / 2 : letters / 3;
    allowed = allowed < 2 ? allowed : least(allowed, 3);
    if (steps <= allowed && (nearest->best == NULL || steps < nearest->steps)) {
        nearest->best = candidate;
        nearest->steps = steps;
    }
}

const char *cli_suggest_option(const char *word, const struct option *known)
{
    static char text[LETTERS_MAX + 32];
    char name[LETTERS_MAX + 1];
    size_t dashes = strspn(word, "-");
    size_t length = strcspn(word + dashes, "=");
    if (dashes == 0 || length > LETTERS_MAX) {
        return "";
    }
    memcpy(name, word + dashes, length);
    name[length] = '\0';
    struct cli_nearest nearest = {.word = name};
    for (; known->name != NULL; known++) {
        if (strlen(known->name) <= LETTERS_MAX) {
            cli_nearest_offer(&nearest, known->name);
        }
    }
    if (nearest.best == NULL) {
        return "";
    }
    snprintf(text, sizeof text, " (did you mean '--%s'?)", nearest.best);
    return text;
}

static const char *say_nearest(const struct cli_nearest *nearest)
{
    static char text[LETTERS_MAX + 32];
    if (nearest->best == NULL || nearest->steps == 0) {
        return "";
    }
    snprintf(text, sizeof text, " (did you mean '%s'?)", nearest->best);
    return text;
}

const char *cli_suggest_kind(const char *word)
{
    struct cli_nearest nearest = {.word = word};
#define TERN_KIND(name, word, ...) cli_nearest_offer(&nearest, word);
#include "tern/kind.def"
#undef TERN_KIND
    return say_nearest(&nearest);
}

const char *cli_suggest_algorithm(const char *word)
{
    struct cli_nearest nearest = {.word = word};
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        const char *name;
        for (int i = 0; (name = tern_algo_name((tern_plan_kind)kind, i)) != NULL; i++) {
            cli_nearest_offer(&nearest, name);
        }
    }
    cli_nearest_offer(&nearest, TERN_ALGO_OPTIMAL);
    return say_nearest(&nearest);
}

// The forms, then the presets.
static const char *topo_word(int index)
{
    int forms = 0;
    while (forms <= index && tern_topo_form(forms) != NULL) {
        forms++;
    }
    return index < forms ? tern_topo_form(index) : tern_topo_preset(index - forms);
}

const char *cli_suggest_topology(const char *word)
{
    static char text[2 * LETTERS_MAX + 32];
    char begin[LETTERS_MAX + 1];
    char name[LETTERS_MAX + 1];
    const char *rest = word + strcspn(word, ":");
    if (strlen(word) > LETTERS_MAX) {
        return "";
    }
    snprintf(begin, sizeof begin, "%.*s", (int)(rest - word), word);
    struct cli_nearest nearest = {.word = begin};
    const char *known;
    for (int i = 0; (known = topo_word(i)) != NULL; i++) {
        // A form is "name:N", a preset's text "name: what it is".
        char candidate[LETTERS_MAX + 1];
        snprintf(candidate, sizeof candidate, "%.*s", (int)strcspn(known, ":"), known);
        const char *best = nearest.best;
        cli_nearest_offer(&nearest, candidate);
        if (nearest.best != best) {
            snprintf(name, sizeof name, "%s", candidate);
            nearest.best = name;
        }
    }
    if (nearest.best == NULL || nearest.steps == 0) {
        return "";
    }
    snprintf(text, sizeof text, " (did you mean '%s%s'?)", nearest.best, rest);
    return text;
}
