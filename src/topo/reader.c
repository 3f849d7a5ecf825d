// SPDX-License-Identifier: Apache-2.0
// What the readers of links, machines and resources have in common.

#include <string.h>

#include "base/error.h"
#include "topo/reader.h"

int tern__reader_range(struct tern__json *json, const char *name, double low, double high,
                       double *value)
{
    char text[32];
    const char *at = json->at;
    if (!tern__topo_read_number(&at, value) || !(*value >= low && *value <= high)) {
        return tern__json_wrong(json, json->at, "\"%s\" must be a number from %g to %g, not %s",
                                name, low, high, tern__json_found(json, text));
    }
    json->at = at;
    return TERN_OK;
}

int tern__reader_name(struct tern__json *json, const char *name, char *string, size_t room)
{
    const char *at = json->at;
    TERN_TRY(tern__json_read_string(json, name, string, room));
    size_t plain = strspn(string, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.-");
    return plain > 0 && string[plain] == '\0'
               ? TERN_OK
               : tern__json_wrong(json, at, "\"%s\" must be letters, digits, '_', '.' and '-'",
                                  name);
}

// Gb are gigabits, GB gigabytes.
const char *tern__reader_hint(const char *name, size_t length)
{
    return length == 14 && memcmp(name, "bandwidth_gbps", length) == 0
               ? "; bandwidths are in GB/s, 10^9 bytes per second, not in gigabits"
               : NULL;
}
