// SPDX-License-Identifier: Apache-2.0
// A folder below /tmp.

#include "folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char folder_name[64];
char folder_file[96];

int folder_make(void **state)
{
    (void)state;
    strcpy(folder_name, "/tmp/tern-test-file-XXXXXX");
    if (mkdtemp(folder_name) == NULL) {
        return -1;
    }
    snprintf(folder_file, sizeof folder_file, "%s/a", folder_name);
    return 0;
}

int folder_remove(void **state)
{
    (void)state;
    unlink(folder_file);
    return rmdir(folder_name);
}

int folder_count(void)
{
    DIR *folder = opendir(folder_name);
    int count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count - 2; // "." and ".."
}
