// SPDX-License-Identifier: Apache-2.0
// The command line of gemm_all_reduce.
#ifndef PATTERNS_GEMM_OPTIONS_H
#define PATTERNS_GEMM_OPTIONS_H

#include <stdbool.h>

#include "gemm_layout.h"
#include "job.h"

struct gemm_options {
    struct gemm_shape shape;
    int runs;
    int patience;
    bool compute_first; // the kernel that is polled is launched before the one that polls
};

// Ends the program for --help, and with a sentence for what is wrong; exit status 2.
void gemm_options_parse(int argc, char **argv, const struct job *job, struct gemm_options *options);

#endif
