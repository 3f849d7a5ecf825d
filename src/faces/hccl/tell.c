// SPDX-License-Identifier: Apache-2.0
// What is wrong in a kernel's call, told with its place. Error path.

#include <stdarg.h>
#include <stdio.h>

#include "faces/hccl/device.h"
#include "tern/block.h"

void tern__hccl_tell(tern_hccl_site site, int status, const char *format, ...)
{
    char text[WHY_BYTES + 64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tern hccl: %s:%d: %s\n", site.file != NULL ? site.file : "?", site.line, text);
    if (status < 0) {
        tern_status_ignore(tern_block_note(status, "%s:%d: %s", site.file != NULL ? site.file : "?",
                                           site.line, text));
    }
}
