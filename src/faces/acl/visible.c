// SPDX-License-Identifier: Apache-2.0
// ASCEND_RT_VISIBLE_DEVICES: the devices that a program sees, which it counts from 0. Read at each
// call, since programs set it themselves. Set-up path.

#include "faces/acl/visible.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"

#define VARIABLE "ASCEND_RT_VISIBLE_DEVICES"

// "3" or "2-5", which is changed.
static bool read_range(char *text, long *first, long *last)
{
    const long most = TERN_RANKS_MAX - 1;
    char *dash = strchr(text, '-');
    if (dash == NULL) {
        bool one = tern__parse_integer(text, 0, most, first) == 0;
        *last = *first;
        return one;
    }
    *dash = '\0';
    return tern__parse_integer(text, 0, most, first) == 0 &&
           tern__parse_integer(dash + 1, *first, most, last) == 0;
}

static int refuse(const char *call, const char *list)
{
    return tern__fail(TERN_ERR_ARG,
                      "%s: " VARIABLE " is '%.60s'; it must list devices from 0 to %d, each once, "
                      "such as 0,1 or 2-5",
                      call, list, TERN_RANKS_MAX - 1);
}

int tern__acl_visible(const char *call, struct tern__acl_visible *visible)
{
    const char *list = getenv(VARIABLE);
    bool seen[TERN_RANKS_MAX] = {false};
    visible->listed = list != NULL && list[0] != '\0';
    visible->count = visible->listed ? 0 : TERN_RANKS_MAX;
    for (int32_t i = 0; i < visible->count; i++) {
        visible->numbers[i] = i;
    }
    for (const char *at = list; visible->listed && at != NULL;) {
        char text[16] = "";
        long number = 0, last = 0;
        const char *comma = strchr(at, ',');
        size_t bytes = comma != NULL ? (size_t)(comma - at) : strlen(at);
        if (bytes >= sizeof text) {
            return refuse(call, list);
        }
        memcpy(text, at, bytes);
        if (!read_range(text, &number, &last)) {
            return refuse(call, list);
        }
        for (; number <= last; number++) {
            if (seen[number]) {
                return refuse(call, list);
            }
            seen[number] = true;
            visible->numbers[visible->count++] = (int32_t)number;
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return TERN_OK;
}
