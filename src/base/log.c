// SPDX-License-Identifier: Apache-2.0
// The log: one line, one write.

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/order.h"

static const char *const level_words[] = {"off", "error", "warn", "info", "debug"};

// The level plus one; 0 until the environment has been read.
static _Atomic uint32_t level_plus_one;

// The rank plus one; 0: none.
static _Atomic uint32_t rank_plus_one;

// False for a word that there is not.
static bool read_level(uint32_t *level)
{
    const char *word = getenv("TERN_LOG");
    *level = TERN__LOG_OFF;
    if (word == NULL || *word == '\0') {
        return true;
    }
    for (uint32_t i = 0; i < sizeof level_words / sizeof level_words[0]; i++) {
        if (strcmp(word, level_words[i]) == 0) {
            *level = i;
            return true;
        }
    }
    return false;
}

int tern__log_option(void)
{
    uint32_t level;
    return read_level(&level)
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "TERN_LOG is '%.40s'; it must be off, error, warn, info or debug",
                            getenv("TERN_LOG"));
}

void tern__log_set_rank(int rank)
{
    tern__poke(&rank_plus_one, (uint32_t)(rank + 1));
}

int tern__log_rank(void)
{
    return (int)tern__peek(&rank_plus_one) - 1;
}

enum tern__log_level tern__log_common(void)
{
    return tern__log_rank() <= 0 ? TERN__LOG_INFO : TERN__LOG_DEBUG;
}

bool tern__log_enabled(enum tern__log_level level)
{
    uint32_t known = tern__peek(&level_plus_one);
    if (known == 0) {
        read_level(&known);
        known++;
        tern__poke(&level_plus_one, known);
    }
    return (uint32_t)level < known;
}

void tern__log(enum tern__log_level level, const char *format, ...)
{
    if (!tern__log_enabled(level)) {
        return;
    }
    char line[1024];
    int head = snprintf(line, sizeof line, "tern[%d] %.6f %s: ", (int)getpid(),
                        (double)tern__now_ns() * 1e-9, level_words[level]);
    if (tern__log_rank() >= 0) {
        head += snprintf(line + head, sizeof line - (size_t)head, "rank %d: ", tern__log_rank());
    }
    va_list arguments;
    va_start(arguments, format);
    int body = vsnprintf(line + head, sizeof line - (size_t)head - 1, format, arguments);
    va_end(arguments);
    size_t length = (size_t)head + (size_t)(body > 0 ? body : 0);
    if (length > sizeof line - 2) {
        length = sizeof line - 2;
    }
    line[length] = '\n';
    ssize_t written = write(STDERR_FILENO, line, length + 1);
    (void)written; // nobody to tell
}
