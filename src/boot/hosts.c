// SPDX-License-Identifier: Apache-2.0
// Reading the hosts of a job.

#include "boot/hosts.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/public.h"
#include "tern/launch.h"

#define ENTRY_BYTES (TERN__HOST_BYTES + 16)

static int take_address(struct tern__host *host, const char *from, size_t length, const char *entry)
{
    if (length == 0 || length >= sizeof host->address) {
        return tern__fail(TERN_ERR_ARG, "the hosts have an entry '%s', which names no host", entry);
    }
    if (from[0] == '-') {
        return tern__fail(TERN_ERR_ARG,
                          "the host '%s' begins with '-', which would be an option of the agent",
                          entry);
    }
    for (size_t i = 0; i < length; i++) {
        if (from[i] <= ' ' || from[i] == 0x7f || strchr("'\"\\$`;&|<>()*?!#{}~", from[i]) != NULL) {
            return tern__fail(TERN_ERR_ARG,
                              "the host '%s' has a character that host names have not", entry);
        }
    }
    snprintf(host->address, sizeof host->address, "%.*s", (int)length, from);
    return TERN_OK;
}

// "a", "a:2", "[::1]", "[::1]:2".
static int read_entry(const char *entry, struct tern__host *host)
{
    const char *close = entry[0] == '[' ? strchr(entry, ']') : NULL;
    const char *from = close != NULL ? entry + 1 : entry;
    const char *end = close != NULL ? close : strchrnul(entry, ':');
    const char *rest = close != NULL ? close + 1 : end;
    if (entry[0] == '[' && close == NULL) {
        return tern__fail(TERN_ERR_ARG, "the host '%s' has no ']'", entry);
    }
    if (close == NULL && rest[0] == ':' && strchr(rest + 1, ':') != NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "the host '%s' has several colons; an IPv6 address stands in brackets, "
                          "as in [::1]:2",
                          entry);
    }
    TERN_TRY(take_address(host, from, (size_t)(end - from), entry));
    long count = 1;
    if (rest[0] != '\0' &&
        (rest[0] != ':' || tern__parse_integer(rest + 1, 1, TERN_RANKS_MAX, &count) != 0)) {
        return tern__fail(TERN_ERR_ARG,
                          "the host '%s' has '%s' behind it; it is a colon and a number of ranks "
                          "from 1 to %d, as in a:2",
                          entry, rest, TERN_RANKS_MAX);
    }
    host->count = (int)count;
    return TERN_OK;
}

// The name without the user, and different from those before.
static void set_name(struct tern__hosts *hosts, struct tern__host *host)
{
    const char *at = strrchr(host->address, '@');
    const char *plain = at != NULL ? at + 1 : host->address;
    int same = 1;
    for (const struct tern__host *other = hosts->list; other < host; other++) {
        const char *other_at = strrchr(other->address, '@');
        same += strcmp(other_at != NULL ? other_at + 1 : other->address, plain) == 0;
    }
    if (same > 1) {
        snprintf(host->name, sizeof host->name, "%.50s#%d", plain, same);
    } else {
        snprintf(host->name, sizeof host->name, "%.60s", plain);
    }
}

int tern__hosts_read(const char *text, struct tern__hosts *hosts)
{
    hosts->count = 0;
    hosts->nranks = 0;
    for (const char *at = text;;) {
        const char *end = strchrnul(at, ',');
        char entry[ENTRY_BYTES];
        if (end - at >= (ptrdiff_t)sizeof entry) {
            return tern__fail(TERN_ERR_ARG, "the host '%.40s…' has a name that is too long", at);
        }
        snprintf(entry, sizeof entry, "%.*s", (int)(end - at), at);
        if (hosts->count == TERN_RANKS_MAX) {
            return tern__fail(TERN_ERR_ARG, "more than %d hosts", TERN_RANKS_MAX);
        }
        struct tern__host *host = &hosts->list[hosts->count];
        TERN_TRY(read_entry(entry, host));
        host->first = hosts->nranks;
        hosts->nranks += host->count;
        if (hosts->nranks > TERN_RANKS_MAX) {
            return tern__fail(TERN_ERR_ARG, "the hosts have more than %d ranks together",
                              TERN_RANKS_MAX);
        }
        set_name(hosts, host);
        hosts->count++;
        if (*end == '\0') {
            return TERN_OK;
        }
        at = end + 1;
    }
}

struct tern__host_ranks tern__host_ranks(const struct tern__host *host)
{
    struct tern__host_ranks made;
    if (host->count == 1) {
        snprintf(made.text, sizeof made.text, "rank %d", host->first);
    } else {
        snprintf(made.text, sizeof made.text, "ranks %d-%d", host->first,
                 host->first + host->count - 1);
    }
    return made;
}

int tern__hosts_of(const struct tern__hosts *hosts, int rank)
{
    int at = 0;
    while (at + 1 < hosts->count && hosts->list[at + 1].first <= rank) {
        at++;
    }
    return at;
}

static int launch_hosts(const char *text, int counts[TERN_RANKS_MAX])
{
    struct tern__hosts hosts;
    if (text == NULL || counts == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_launch_hosts: hosts and counts must not be NULL");
    }
    TERN_TRY(tern__hosts_read(text, &hosts));
    for (int i = 0; i < hosts.count; i++) {
        counts[i] = hosts.list[i].count;
    }
    return hosts.count;
}

int tern_launch_hosts(const char *hosts, int counts[TERN_RANKS_MAX])
{
    return TERN__CALL_OF_CALLS(launch_hosts(hosts, counts));
}
