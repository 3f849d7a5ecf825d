// SPDX-License-Identifier: Apache-2.0
// Strings in the JSON of reports.

#include "coll/job_json.h"

void tern__job_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else if (c < 0x20 || c > 0x7e) {
            fprintf(file, "\\u%04x", c);
        } else {
            fputc(c, file);
        }
    }
    fputc('"', file);
}

void tern__job_json_field(FILE *file, const char *key, const char *text)
{
    fprintf(file, ",\"%s\":", key);
    tern__job_json_string(file, text);
}
