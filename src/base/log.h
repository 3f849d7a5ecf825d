// SPDX-License-Identifier: Apache-2.0
// Log lines on standard error, off unless TERN_LOG is error, warn, info or debug. Never on the data
// path.
#ifndef TERN_BASE_LOG_H
#define TERN_BASE_LOG_H

#include <stdbool.h>

#include "tern/status.h"

enum tern__log_level {
    TERN__LOG_OFF,
    TERN__LOG_ERROR,
    TERN__LOG_WARN,
    TERN__LOG_INFO,
    TERN__LOG_DEBUG
};

// TERN_ERR_ARG when TERN_LOG is none of these words; its lines are then as if it were off.
int tern__log_option(void);

// The rank that log lines name from now on; -1: none. Of a process that is in several jobs, the
// first.
void tern__log_set_rank(int rank);
int tern__log_rank(void);

// The level of what all ranks of a job would say alike: INFO on rank 0, DEBUG on the others.
enum tern__log_level tern__log_common(void);

bool tern__log_enabled(enum tern__log_level level);
void tern__log(enum tern__log_level level, const char *format, ...) TERN_PRINTF(2, 3);

#endif
