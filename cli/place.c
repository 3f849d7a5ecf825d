// SPDX-License-Identifier: Apache-2.0
// Where this command lies.

#include "place.h"

#include <string.h>
#include <unistd.h>

bool cli_find_prefix(char *prefix, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", prefix, size - 1);
    if (length <= 0) {
        return false;
    }
    prefix[length] = '\0';
    for (int up = 0; up < 2; up++) { // …/bin/tern
        char *slash = strrchr(prefix, '/');
        *(slash != NULL ? slash : prefix) = '\0';
    }
    return true;
}
