// SPDX-License-Identifier: Apache-2.0
// What the files of `tern sim` share: what was asked for (options.c), and what is printed of a
// simulation (report.c, json.c). sim.c goes through algorithms and sizes.
#ifndef TERN_CLI_SIM_H
#define TERN_CLI_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "page.h"
#include "tern/algo.h"
#include "tern/sim.h"
#include "topo.h"

#define SIM_SIZES_MAX 256
#define SIM_ALGOS_MAX 32

struct sim_arguments {
    const char *file; // a plan; NULL: made for `request`
    tern_algo_request request;
    struct cli_topo topo;
    uint64_t sizes[SIM_SIZES_MAX];
    int nsizes;
    const char *algos[SIM_ALGOS_MAX]; // at least one when `file` is NULL; NULL: selected
    int nalgos;
    char algo_words[512]; // what they point into
    bool has_bytes, has_order, generated, json, ranks, steps;
    bool measured;     // what ops cost is that of this machine
    bool not_measured; // that has been said
    long unit, root, group, rows, seed, trace_events, processors;
    struct cli_page page;
    uint64_t piece_bytes;
    tern_sim_options options;
};

// Returns -1 to go on, else the exit status.
int sim_read_options(int argc, char **argv, struct sim_arguments *arguments);

// What was simulated.
struct sim_case {
    const tern_plan_spec *spec;
    const char *topo; // its text
    const tern_sim *sim;
};

// All that is known of one; a line of a table, and its head; all, as a JSON object in a line.
void sim_print_report(const struct sim_arguments *arguments, const struct sim_case *one);
void sim_print_head(const struct sim_case *one);
void sim_print_row(const struct sim_case *one);
void sim_print_json(const struct sim_arguments *arguments, const struct sim_case *one);

// page.c: writes the page, and says what the trace lacks. The exit status.
int sim_show_page(const struct sim_arguments *arguments, const struct sim_case *one);

#endif
