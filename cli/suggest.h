// SPDX-License-Identifier: Apache-2.0
// "Did you mean …?", for words that there are not.
#ifndef TERN_CLI_SUGGEST_H
#define TERN_CLI_SUGGEST_H

#include <getopt.h>
#include <stddef.h>

// The candidate that is nearest to a word so far. Zero but for `word`: none yet.
struct cli_nearest {
    const char *word;
    const char *best; // NULL: none is near enough to be meant
    size_t steps;     // letters to insert, drop, replace, or swap with the next
};

void cli_nearest_offer(struct cli_nearest *nearest, const char *candidate);

// " (did you mean '--label'?)", or "" when no long option is near to `word` as it was typed:
// "--lable", also "--lable=x". Valid until the next call.
const char *cli_suggest_option(const char *word, const struct option *known);

// The same, without dashes, for the word of a kind of call, and for that of an algorithm of any
// kind.
const char *cli_suggest_kind(const char *word);
const char *cli_suggest_algorithm(const char *word);

// For that of a topology: "mehs:8" was meant as 'mesh:8'.
const char *cli_suggest_topology(const char *word);

#endif
