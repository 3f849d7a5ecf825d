// SPDX-License-Identifier: Apache-2.0
// What another machine's clock says when this one's says something. Who wants to know asks the
// other machine several times: the answer lay between the question and its arrival here, so the
// shortest round trip says best how far the clocks are apart, to half of its time. Asked again
// later, it shows how one clock has gained on the other.
#ifndef TERN_BASE_CLOCK_LINE_H
#define TERN_BASE_CLOCK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TERN__CLOCK_QUESTIONS 16 // one after the other; the best is taken

// At `at_ns` of this clock the other one said at_ns + offset_ns, to error_ns.
struct tern__clock_point {
    int64_t at_ns;
    int64_t offset_ns;
    int64_t error_ns;
    int64_t answers; // that this is the best of; 0: nothing is known
};

// Two points, or one twice. Goes over networks as it is.
struct tern__clock_line {
    struct tern__clock_point begin, end;
};

// An answer: the other clock said other_ns after sent_ns and before back_ns of this one. Stays if
// it is the best so far.
void tern__clock_answer(struct tern__clock_point *point, int64_t sent_ns, int64_t other_ns,
                        int64_t back_ns);

// The line through the points that are known. A change between them that no clock makes in that
// time comes from answers that were late on one way only; then the better point holds throughout.
struct tern__clock_line tern__clock_line(struct tern__clock_point begin,
                                         struct tern__clock_point end);

bool tern__clock_line_known(const struct tern__clock_line *line);

// The other clock's time for one of this clock. Between the points the offset changes evenly,
// before and behind them it stays. Later times are never earlier there. As it is when nothing is
// known.
int64_t tern__clock_line_map(const struct tern__clock_line *line, int64_t time_ns);

// The line that leads back.
struct tern__clock_line tern__clock_line_inverse(const struct tern__clock_line *line);

// How far the result may be off: half of the round trips.
int64_t tern__clock_line_error_ns(const struct tern__clock_line *line);

// "3.000012 s ahead of NAME, to 0.000021 s; it gained 0.000003 s in 12.3 s": of this clock.
void tern__clock_line_text(const struct tern__clock_line *line, const char *name, char *text,
                           size_t size);

#endif
