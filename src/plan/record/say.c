// SPDX-License-Identifier: Apache-2.0
// Findings of a recording, and what the executor itself says.

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "plan/record/record.h"

#define FINDINGS_MAX 100000 // then it does not look at results, and may never return

struct recording *tern__recording;

static int keep(int status, const char *text)
{
    struct recording *recording = tern__recording;
    tern__set_error("%s", text);
    if (recording != NULL && recording->findings++ == 0) {
        recording->status = status;
        snprintf(recording->text, sizeof recording->text, "%s", text);
    }
    if (recording != NULL && recording->findings == FINDINGS_MAX) {
        tern__record_give_up(recording);
    }
    return status;
}

int tern__record_finding(int status, const char *format, ...)
{
    char text[TERN__RECORD_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return keep(status, text);
}

int tern_record_fail(const char *file, int line, const char *format, ...)
{
    char text[TERN__RECORD_TEXT];
    int rank = tern__recording != NULL ? tern__recording->call.rank : -1;
    int used = snprintf(text, sizeof text, "%.255s:%d: rank %d: ", file, line, rank);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    va_end(arguments);
    return keep(TERN_ERR_ARG, text);
}

// The innermost call is told first, and is the cause of the others.
void tern_record_returned(const char *file, int line, const char *call, int result)
{
    struct recording *recording = tern__recording;
    if (recording != NULL && recording->returned[0] == '\0') {
        snprintf(recording->returned, sizeof recording->returned,
                 "%.200s:%d: rank %d: %.120s returned %d", file, line, recording->call.rank, call,
                 result);
    }
}

void tern_record_say(bool error, const char *file, int line, const char *format, ...)
{
    struct recording *recording = tern__recording;
    enum tern__log_level level = error ? TERN__LOG_ERROR : TERN__LOG_INFO;
    if (format == NULL || (!tern__log_enabled(level) && (!error || recording == NULL))) {
        return;
    }
    char text[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tern__log(level, "%s:%d: %s", file, line, text);
    // The last one before a call has failed is about that.
    if (error && recording != NULL && recording->returned[0] == '\0') {
        snprintf(recording->said, sizeof recording->said, "%s", text);
    }
}
