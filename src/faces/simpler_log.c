// SPDX-License-Identifier: Apache-2.0
// Log lines of orchestrations, as lines of tern's log (TERN_LOG).

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "faces/simpler.h"

enum { LINE = 512 };

static void log_line(enum tern__log_level level, const char *func, const char *format, va_list list)
{
    char text[LINE];
    if (tern__log_enabled(level)) {
        vsnprintf(text, sizeof text, format, list);
        tern__log(level, "%s: %s", func, text);
    }
}

#define LOG_AT(name, level)                                                                        \
    void name(const char *func, const char *format, ...)                                           \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, format);                                                                    \
        log_line(level, func, format, list);                                                       \
        va_end(list);                                                                              \
    }
LOG_AT(tern__simpler_log_error, TERN__LOG_ERROR)
LOG_AT(tern__simpler_log_warn, TERN__LOG_WARN)
LOG_AT(tern__simpler_log_info, TERN__LOG_INFO)
LOG_AT(tern__simpler_log_debug, TERN__LOG_DEBUG)
#undef LOG_AT

void tern__simpler_log_always(const char *func, const char *format, ...)
{
    char text[LINE];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "%s: %s\n", func, text);
}
