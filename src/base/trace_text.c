// SPDX-License-Identifier: Apache-2.0
// Strings and times of a trace as JSON; and what links and resources did, as counters.

#include "base/trace_text.h"

#include <inttypes.h>
#include <string.h>

// Bytes of the UTF-8 character that begins here: 2..4, or 0 when it is none. Names are any bytes
// and may have been cut inside a character.
static size_t utf8_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t bytes = c[0] >= 0xc2 && c[0] <= 0xdf   ? 2
                   : c[0] >= 0xe0 && c[0] <= 0xef ? 3
                   : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                                  : 0;
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) { // also the end of the text
            return 0;
        }
    }
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return overlong || beyond ? 0 : bytes;
}

void tern__trace_text(FILE *file, const char *from, size_t size)
{
    char text[TERN__TRACE_TEXT_MAX + 1] = "";
    strncat(text, from, size < sizeof text ? size : sizeof text - 1);
    for (const char *at = text; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        size_t bytes = c >= 0x80 ? utf8_bytes(at) : 1;
        if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(file, "\\u%04x", c);
        } else if (bytes == 0) {
            fputs("\\ufffd", file);
        } else {
            fwrite(at, 1, bytes, file);
            at += bytes - 1;
        }
    }
}

void tern__trace_time(FILE *file, const char *key, int64_t time_ns)
{
    time_ns = time_ns > 0 ? time_ns : 0;
    fprintf(file, ",\"%s\":%" PRId64 ".%03d", key, time_ns / 1000, (int)(time_ns % 1000));
}

void tern__trace_write_counters(FILE *file, const struct tern__trace_simulated *simulated, int pid)
{
    fprintf(file, ",\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":\"",
            pid);
    tern__trace_text(file, simulated->process, TERN__TRACE_TEXT_MAX);
    fprintf(file,
            "\"}},\n{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_sort_index\",\"args\":{"
            "\"sort_index\":%d}}",
            pid, pid - 1);
    for (size_t i = 0; i < simulated->counters_count; i++) {
        const struct tern__trace_counter *counter = &simulated->counters[i];
        for (size_t k = 0; k < counter->samples_count; k++) {
            const struct tern__trace_sample *sample = &counter->samples[k];
            fprintf(file, ",\n{\"ph\":\"C\",\"pid\":%d,\"cat\":\"use\",\"name\":\"", pid);
            tern__trace_text(file, counter->name, TERN__TRACE_TEXT_MAX);
            fputc('"', file);
            tern__trace_time(file, "ts", sample->at_ns);
            fprintf(file, ",\"args\":{\"percent\":%u.%03u}}", sample->share / 1000,
                    sample->share % 1000);
        }
    }
}
