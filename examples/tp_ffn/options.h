// SPDX-License-Identifier: Apache-2.0
// The command line of tp_ffn.
#ifndef TP_FFN_OPTIONS_H
#define TP_FFN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tern/dtype.h>

#include "support.h"

// 0 and NULL: not given; options_fill_in or the input files then decide.
struct options {
    int64_t tokens;
    int64_t hidden;
    int64_t intermediate;
    int64_t chunks;
    int64_t rounds;
    int64_t cores; // AIC cores of a rank
    int64_t seed;
    bool seed_given;
    bool help;
    tern_dtype dtype;
    const char *in;    // folder to read the matrices from
    const char *save;  // folder to write them and y to
    const char *trace; // file
};

// Parses the command line. A failure is EXIT_USAGE.
int options_parse(int argc, char **argv, struct options *options, struct failure *failure);

void options_print_help(FILE *file);

#endif
