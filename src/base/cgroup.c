// SPDX-License-Identifier: Apache-2.0
// Limits of the machine and of the control groups. A group's own limit counts and so does that of
// every group above it, hence the walk up to the mount point.

#include "base/cgroup.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 1024

// The first number of a file, or of the line that starts with `key`; -1 when there is none (the
// word "max" included).
static int64_t read_number(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    int64_t value = -1;
    char line[256];
    size_t skip = key != NULL ? strlen(key) : 0;
    while (fgets(line, sizeof line, file) != NULL) {
        if (key != NULL && strncmp(line, key, skip) != 0) {
            continue;
        }
        char *end = NULL;
        long long parsed = strtoll(line + skip, &end, 10);
        if (end != line + skip && parsed >= 0) {
            value = parsed;
        }
        break;
    }
    fclose(file);
    return value;
}

// The group of this process for a version 1 controller ("memory"), or for version 2 (NULL).
static bool own_group(const char *controller, char group[PATH_BYTES])
{
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL) {
        return false;
    }
    bool found = false;
    char line[PATH_BYTES];
    while (!found && fgets(line, sizeof line, file) != NULL) {
        char *names = strchr(line, ':');
        char *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        names++;
        if (controller == NULL) {
            found = *names == '\0';
        } else {
            for (char *save = NULL, *name = strtok_r(names, ",", &save); name != NULL && !found;
                 name = strtok_r(NULL, ",", &save)) {
                found = strcmp(name, controller) == 0;
            }
        }
        if (found) {
            snprintf(group, PATH_BYTES, "%s", strcmp(path, "/") == 0 ? "" : path);
        }
    }
    fclose(file);
    return found;
}

// Calls visit for the group of this process and for each above it. In a container the path may not
// exist below the mount point, which is then the group itself; visit sees unreadable files as -1.
static int64_t lowest_over_groups(const char *mount, const char *controller,
                                  int64_t (*visit)(const char *folder))
{
    char group[PATH_BYTES];
    int64_t lowest = INT64_MAX;
    if (!own_group(controller, group)) {
        return lowest;
    }
    for (;;) {
        char folder[PATH_BYTES + 64];
        snprintf(folder, sizeof folder, "%s%s", mount, group);
        int64_t value = visit(folder);
        lowest = value < lowest ? value : lowest;
        char *slash = strrchr(group, '/');
        if (slash == NULL) {
            return lowest;
        }
        *slash = '\0';
    }
}

static int64_t headroom(const char *folder, const char *limit_file, const char *usage_file,
                        const char *cache_key)
{
    char path[PATH_BYTES + 128];
    snprintf(path, sizeof path, "%s/%s", folder, limit_file);
    int64_t limit = read_number(path, NULL);
    snprintf(path, sizeof path, "%s/%s", folder, usage_file);
    int64_t usage = read_number(path, NULL);
    if (limit < 0 || usage < 0) {
        return INT64_MAX;
    }
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    int64_t cache = read_number(path, cache_key);
    usage -= cache > 0 ? cache : 0;
    return limit > usage ? limit - usage : 0;
}

static int64_t headroom_v2(const char *folder)
{
    return headroom(folder, "memory.max", "memory.current", "inactive_file ");
}

static int64_t headroom_v1(const char *folder)
{
    return headroom(folder, "memory.limit_in_bytes", "memory.usage_in_bytes",
                    "total_inactive_file ");
}

int64_t tern__memory_available(void)
{
    int64_t available = read_number("/proc/meminfo", "MemAvailable:");
    available = available < 0 ? INT64_MAX : available * 1024;
    int64_t v2 = lowest_over_groups("/sys/fs/cgroup", NULL, headroom_v2);
    int64_t v1 = lowest_over_groups("/sys/fs/cgroup/memory", "memory", headroom_v1);
    available = v2 < available ? v2 : available;
    return v1 < available ? v1 : available;
}

static int64_t quota_of(int64_t quota_us, int64_t period_us)
{
    if (quota_us <= 0 || period_us <= 0) {
        return INT64_MAX;
    }
    return (quota_us + period_us - 1) / period_us;
}

static int64_t quota_v2(const char *folder)
{
    char path[PATH_BYTES + 128];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return INT64_MAX;
    }
    long long quota_us = -1;
    long long period_us = -1;
    int fields = fscanf(file, "%lld %lld", &quota_us, &period_us);
    fclose(file);
    return fields == 2 ? quota_of(quota_us, period_us) : INT64_MAX;
}

static int64_t quota_v1(const char *folder)
{
    char path[PATH_BYTES + 128];
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", folder);
    int64_t quota_us = read_number(path, NULL);
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
    return quota_of(quota_us, read_number(path, NULL));
}

int tern__cpus_allowed(void)
{
    cpu_set_t mask;
    int cpus = sched_getaffinity(0, sizeof mask, &mask) == 0 ? CPU_COUNT(&mask) : CPU_SETSIZE;
    int64_t v2 = lowest_over_groups("/sys/fs/cgroup", NULL, quota_v2);
    int64_t v1 = lowest_over_groups("/sys/fs/cgroup/cpu", "cpu", quota_v1);
    int64_t quota = v2 < v1 ? v2 : v1;
    cpus = quota < cpus ? (int)quota : cpus;
    return cpus > 0 ? cpus : 1;
}
