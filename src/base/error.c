// SPDX-License-Identifier: Apache-2.0
// Status names and texts from the one table, and the last sentence of each thread.

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[TERN_ERROR_BYTES];

static const struct status_row {
    int number;
    const char *name;
    const char *text;
} status_rows[] = {
#define TERN_STATUS(name, number, text) {number, "TERN_" #name, text},
#include "tern/status.def"
#undef TERN_STATUS
};

static const struct status_row *find_row(int status)
{
    for (size_t i = 0; i < sizeof status_rows / sizeof status_rows[0]; i++) {
        if (status_rows[i].number == status) {
            return &status_rows[i];
        }
    }
    return NULL;
}

const char *tern_status_name(int status)
{
    const struct status_row *row = find_row(status);
    return row != NULL ? row->name : "no status of tern";
}

const char *tern_status_text(int status)
{
    const struct status_row *row = find_row(status);
    return row != NULL ? row->text : "no status of tern";
}

const char *tern_last_error(void)
{
    return last_error;
}

struct tern__sentence tern__keep_error(void)
{
    struct tern__sentence kept;
    memcpy(kept.text, last_error, sizeof kept.text);
    return kept;
}

void tern__restore_error(const struct tern__sentence *kept)
{
    memcpy(last_error, kept->text, sizeof last_error);
}

void tern__set_error(const char *format, ...)
{
    // Formatted aside first: an argument may be the previous sentence.
    char sentence[TERN_ERROR_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    memcpy(last_error, sentence, sizeof sentence);
}

void tern__set_error_errno(const char *format, ...)
{
    int error = errno;
    char sentence[TERN_ERROR_BYTES];
    char reason[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    const char *text = strerror_r(error, reason, sizeof reason);
    size_t length = strlen(sentence);
    snprintf(sentence + length, sizeof sentence - length, ": %s", text);
    memcpy(last_error, sentence, sizeof sentence);
}
