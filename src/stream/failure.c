// SPDX-License-Identifier: Apache-2.0
// What a stream has failed with, and what its events say of that. Set-up path.

#include <stdarg.h>
#include <stdio.h>

#include "stream/device.h"
#include "tern/status.h"

const char *tern__stream_point_sentence(const struct tern__stream_point *point)
{
    return point->sentence != NULL ? point->sentence : tern_status_name(point->status);
}

void tern__stream_fail(struct tern_stream *stream, int status, const char *format, ...)
{
    if (stream->status == TERN_OK) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(stream->sentence, sizeof stream->sentence, format, arguments);
        va_end(arguments);
        stream->status = status;
    }
}
