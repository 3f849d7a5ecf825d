// SPDX-License-Identifier: Apache-2.0
// Sizes that the kernels, the orchestrations, kernel_config.py and golden.py agree on.
#pragma once

enum {
    TOKENS = 16, // of each rank
    CHOICES = 2, // experts of a token
    WIDTH = 64,  // numbers of a token
    EXPERTS = 2, // of each rank
    ROWS = 64,   // of an expert, from all ranks
};
