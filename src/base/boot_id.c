// SPDX-License-Identifier: Apache-2.0
// Which machine this is, as its kernel says it.

#include "base/boot_id.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

int tern__boot_id(char id[TERN__BOOT_ID_BYTES])
{
    memset(id, 0, TERN__BOOT_ID_BYTES);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL) {
        if (fgets(id, TERN__BOOT_ID_BYTES, file) == NULL) {
            id[0] = '\0';
        }
        fclose(file);
    } else if (errno != ENOENT && errno != EACCES) {
        return tern__fail_errno(TERN_ERR_SYSTEM, "which machine this is: boot_id of /proc");
    }
    return TERN_OK;
}
