// SPDX-License-Identifier: Apache-2.0
// Searches for plans (tern/algo.h) as a person watches them: how far they are on a terminal, and
// Ctrl-C takes the best plan so far. And certificates of what a search cannot do better than.
#ifndef TERN_CLI_SEARCH_H
#define TERN_CLI_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tern/algo.h"

struct cli_search {
    tern_search how; // for requests; its seconds and seed are the caller's
    tern_search_news news;
    int64_t shown_ns;
    bool terminal, shown;
};

// Everything between the two is watched, one at a time in a process. Ending it says so if Ctrl-C
// was pressed, after `prefix` ("tern plan: ").
void cli_search_begin(struct cli_search *search);
void cli_search_end(struct cli_search *search, const char *prefix);

// What was found, a line of a summary; nothing where nobody searched.
void cli_search_print(const struct cli_search *search, FILE *file);

// Makes the certificate of what is asked for and writes it there ("-": standard output).
int cli_certificate_write(const tern_algo_request *request, const char *path);

// What a certificate proves, on standard output; also for the bytes of a plan, unless that is NULL.
// TERN_ERR_ARG where it is for other plans.
int cli_certificate_print(const char *path, const tern_topo *topo, const tern_plan *plan);

#endif
