// SPDX-License-Identifier: Apache-2.0
// Reads /proc.

#include "look.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tern/status.h"

bool look_says(const char *words)
{
    return strstr(tern_last_error(), words) != NULL;
}

bool says(int status, int wanted, const char *words)
{
    if (status == wanted && look_says(words)) {
        return true;
    }
    fprintf(stderr, "got %s '%s'; wanted %s with '%s'\n", tern_status_name(status),
            tern_last_error(), tern_status_name(wanted), words);
    return false;
}

bool says_died(int status, int rank)
{
    char here[32];
    char elsewhere[40];
    char machine[64];
    int end = 0;
    snprintf(here, sizeof here, "rank %d died", rank);
    snprintf(elsewhere, sizeof elsewhere, "rank %d on machine ", rank);
    const char *found = strstr(tern_last_error(), elsewhere);
    bool died = found != NULL &&
                sscanf(found + strlen(elsewhere), "%63s died%n", machine, &end) == 1 && end > 0;
    return (status == TERN_ERR_PEER && died) || says(status, TERN_ERR_PEER, here);
}

int look_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        count += entry->d_name[0] != '.';
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count - 1; // the folder's own
}

static int count_lines_with(const char *path, const char *words)
{
    FILE *file = fopen(path, "re");
    char line[1024];
    int count = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        count += strstr(line, words) != NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

int look_maps(void)
{
    return count_lines_with("/proc/self/maps", "memfd:tern");
}

int look_shm(void)
{
    return count_lines_with("/proc/self/maps", "/dev/shm/");
}

long look_kib(const char *key)
{
    FILE *file = fopen(strncmp(key, "Vm", 2) == 0 ? "/proc/self/status" : "/proc/meminfo", "re");
    char line[256];
    long value = -1;
    while (file != NULL && value < 0 && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            value = strtol(line + strlen(key), NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}
