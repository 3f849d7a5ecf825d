// SPDX-License-Identifier: Apache-2.0
// The log: one line, one write.

#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/order.h"

static const char *const level_words[] = {"off", "error", "warn", "info", "debug"};

// The level plus one; 0 until the environment has been read.
static _Atomic uint32_t level_plus_one;

static uint32_t read_level(void)
{
    const char *word = getenv("TERN_LOG");
    for (uint32_t i = 0; word != NULL && i < sizeof level_words / sizeof level_words[0]; i++) {
        if (strcmp(word, level_words[i]) == 0) {
            return i;
        }
    }
    return TERN__LOG_OFF;
}

bool tern__log_enabled(enum tern__log_level level)
{
    uint32_t known = tern__peek(&level_plus_one);
    if (known == 0) {
        known = read_level() + 1;
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
