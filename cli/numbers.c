// SPDX-License-Identifier: Apache-2.0
// Reading and printing numbers.

#include "numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

bool cli_read_number(const char *text, long least, long most, long *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 10 || strspn(text, digits) != length) {
        return false;
    }
    long value = strtol(text, NULL, 10);
    if (value < least || value > most) {
        return false;
    }
    *number = value;
    return true;
}

bool cli_read_bytes(const char *text, size_t length, uint64_t most, uint64_t *bytes)
{
    size_t count = strspn(text, digits);
    if (count == 0 || count > 15) {
        return false;
    }
    uint64_t value = strtoull(text, NULL, 10);
    const char *suffix = text + count;
    int shift = *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : *suffix == 'G' ? 30 : 0;
    if (count + (shift > 0) != length || value > most >> shift) {
        return false;
    }
    *bytes = value << shift;
    return true;
}

bool cli_read_sizes(const char *list, uint64_t most, uint64_t *sizes, int room, int *count)
{
    int found = 0;
    for (const char *word = list; word != NULL;) {
        size_t length = strcspn(word, ",");
        if (found == room || !cli_read_bytes(word, length, most, &sizes[found]) ||
            sizes[found] == 0) {
            return false;
        }
        found++;
        word = word[length] == ',' ? word + length + 1 : NULL;
    }
    *count = found;
    return true;
}

bool cli_read_seconds(const char *text, double least, double most, double *seconds)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || strspn(text, "0123456789.") != strlen(text) ||
        !(value >= least && value <= most)) {
        return false;
    }
    *seconds = value;
    return true;
}

const char *cli_bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, 32, "%" PRIu64 " %s", bytes, units[unit]);
    return text;
}
