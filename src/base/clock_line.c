// SPDX-License-Identifier: Apache-2.0
// Points and lines between clocks.

#include "base/clock_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// The kernel steers CLOCK_MONOTONIC by at most 500 millionths, and crystals are off by less.
#define DRIFT_MOST 1000 // a thousandth, of two clocks that are steered apart

void tern__clock_answer(struct tern__clock_point *point, int64_t sent_ns, int64_t other_ns,
                        int64_t back_ns)
{
    int64_t half_ns = (back_ns - sent_ns + 1) / 2;
    if (back_ns < sent_ns) {
        return;
    }
    if (point->answers++ == 0 || half_ns < point->error_ns) {
        point->at_ns = sent_ns + half_ns;
        point->offset_ns = other_ns - point->at_ns;
        point->error_ns = half_ns;
    }
}

struct tern__clock_line tern__clock_line(struct tern__clock_point begin,
                                         struct tern__clock_point end)
{
    if (begin.answers == 0 || end.answers == 0) {
        begin = end.answers == 0 ? begin : end;
        return (struct tern__clock_line){begin, begin};
    }
    int64_t change_ns = end.offset_ns - begin.offset_ns;
    int64_t most_ns = (end.at_ns - begin.at_ns) / DRIFT_MOST;
    if (change_ns > most_ns || change_ns < -most_ns) {
        begin = begin.error_ns < end.error_ns ? begin : end;
        return (struct tern__clock_line){begin, begin};
    }
    return (struct tern__clock_line){begin, end};
}

bool tern__clock_line_known(const struct tern__clock_line *line)
{
    return line->begin.answers > 0 && line->end.answers > 0;
}

int64_t tern__clock_line_map(const struct tern__clock_line *line, int64_t time_ns)
{
    const struct tern__clock_point *begin = &line->begin;
    const struct tern__clock_point *end = &line->end;
    if (!tern__clock_line_known(line)) {
        return time_ns;
    }
    if (time_ns <= begin->at_ns || end->at_ns <= begin->at_ns) {
        return time_ns + begin->offset_ns;
    }
    if (time_ns >= end->at_ns) {
        return time_ns + end->offset_ns;
    }
    double part = (double)(time_ns - begin->at_ns) / (double)(end->at_ns - begin->at_ns);
    return time_ns + begin->offset_ns +
           (int64_t)(part * (double)(end->offset_ns - begin->offset_ns));
}

static struct tern__clock_point inverse(struct tern__clock_point point)
{
    point.at_ns += point.offset_ns;
    point.offset_ns = -point.offset_ns;
    return point;
}

struct tern__clock_line tern__clock_line_inverse(const struct tern__clock_line *line)
{
    return (struct tern__clock_line){inverse(line->begin), inverse(line->end)};
}

int64_t tern__clock_line_error_ns(const struct tern__clock_line *line)
{
    return line->begin.error_ns > line->end.error_ns ? line->begin.error_ns : line->end.error_ns;
}

// The sign apart, since -0.3 s is "-0" and a rest.
static void seconds_text(int64_t ns, char *text, size_t size)
{
    int64_t us = ((ns < 0 ? -ns : ns) + 500) / 1000;
    snprintf(text, size, "%" PRId64 ".%06d s", us / 1000000, (int)(us % 1000000));
}

void tern__clock_line_text(const struct tern__clock_line *line, const char *name, char *text,
                           size_t size)
{
    char offset[40];
    char error[40];
    char gained[40];
    if (!tern__clock_line_known(line)) {
        snprintf(text, size, "not known");
        return;
    }
    seconds_text(line->begin.offset_ns, offset, sizeof offset);
    seconds_text(tern__clock_line_error_ns(line), error, sizeof error);
    int used = snprintf(text, size, "%s %s %s, to %s", offset,
                        line->begin.offset_ns <= 0 ? "ahead of" : "behind", name, error);
    int64_t apart_ns = line->end.at_ns - line->begin.at_ns;
    int64_t gained_ns = line->begin.offset_ns - line->end.offset_ns;
    if (apart_ns > 0 && used > 0 && (size_t)used < size) {
        seconds_text(gained_ns, gained, sizeof gained);
        snprintf(text + used, size - (size_t)used, "; it %s %s in %.3g s",
                 gained_ns >= 0 ? "gained" : "lost", gained, (double)apart_ns * 1e-9);
    }
}
