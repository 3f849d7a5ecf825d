// SPDX-License-Identifier: Apache-2.0
// The report of `tern check` in the words of HCCL's algorithm analyser: its checks by name, its
// codes, its notation of tasks. A queue is a lane, a slice an operand. What is found, and what is
// an error, is tern's own: reduces of one operation that run at the same time are none, and a link
// that is missing is one.

#include "check_hccl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_MAX 20 // queues that are named

// The analyser's code of each sort of finding; 0: it does not look for that. It has the numbers 405
// to 409 for a final state that is wrong; which is which here is our choice.
static const int codes[TERN_CHECK_CAUSES] = {
    [TERN_CHECK_OUTSIDE] = 109,    [TERN_CHECK_NOT_UNITS] = 201, [TERN_CHECK_OVERLAP] = 202,
    [TERN_CHECK_NO_LINK] = 0,      [TERN_CHECK_STARVED] = 102,   [TERN_CHECK_CYCLE] = 102,
    [TERN_CHECK_CONFLICT] = 302,   [TERN_CHECK_UNAWAITED] = 103, [TERN_CHECK_REMOTE] = 0,
    [TERN_CHECK_UNDELIVERED] = 0,  [TERN_CHECK_UNWRITTEN] = 402, [TERN_CHECK_WRONG_SUM] = 403,
    [TERN_CHECK_MISSING] = 405,    [TERN_CHECK_MISPLACED] = 406, [TERN_CHECK_WRONG_SOURCE] = 407,
    [TERN_CHECK_NOT_COPIED] = 408, [TERN_CHECK_NOT_MET] = 409,   [TERN_CHECK_OVERWRITTEN] = 302,
};

// Who posts a signal.
enum { NOBODY = 0, SEVERAL = UINT16_MAX }; // else the rank + 1

struct report {
    const tern_check *check;
    const tern_plan *plan;
    FILE *file;
    uint16_t **posters;      // by rank and signal
    uint32_t **posts;        // how many, likewise
    size_t signals, counted; // counted: posted more than once
    size_t unframed;
};

static const char *const buffer_types[] = {
    [TERN_PLAN_IN] = "INPUT", [TERN_PLAN_OUT] = "OUTPUT", [TERN_PLAN_SCRATCH] = "SCRATCH"};

typedef void visit_fn(struct report *report, int rank, int lane, size_t index,
                      const tern_plan_op *op);

static void for_all_ops(struct report *report, visit_fn *visit)
{
    for (int rank = 0; rank < tern_plan_get_spec(report->plan)->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(report->plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(report->plan, rank, lane); i++) {
                tern_plan_op op;
                if (tern_plan_get_op(report->plan, rank, lane, i, &op) == TERN_OK) {
                    visit(report, rank, lane, i, &op);
                }
            }
        }
    }
}

static void count_post(struct report *report, int rank, int lane, size_t index,
                       const tern_plan_op *op)
{
    (void)lane, (void)index;
    if (op->kind != TERN_PLAN_POST) {
        return;
    }
    uint16_t *poster = &report->posters[op->peer][op->signal];
    *poster = *poster == NOBODY || *poster == rank + 1 ? (uint16_t)(rank + 1) : SEVERAL;
    uint32_t posts = ++report->posts[op->peer][op->signal];
    report->signals += posts == 1;
    report->counted += posts == 2;
}

static bool prepare(struct report *report)
{
    size_t n = (size_t)tern_plan_get_spec(report->plan)->nranks;
    report->posters = calloc(n, sizeof *report->posters);
    report->posts = calloc(n, sizeof *report->posts);
    bool good = report->posters != NULL && report->posts != NULL;
    for (size_t rank = 0; good && rank < n; rank++) {
        size_t signals = tern_plan_signal_count(report->plan, (int)rank) + (size_t)1;
        report->posters[rank] = calloc(signals, sizeof **report->posters);
        report->posts[rank] = calloc(signals, sizeof **report->posts);
        good = report->posters[rank] != NULL && report->posts[rank] != NULL;
    }
    if (good) {
        for_all_ops(report, count_post);
    }
    return good;
}

static void clean_up(struct report *report)
{
    int n = tern_plan_get_spec(report->plan)->nranks;
    for (int rank = 0; rank < n; rank++) {
        free(report->posters != NULL ? report->posters[rank] : NULL);
        free(report->posts != NULL ? report->posts[rank] : NULL);
    }
    free((void *)report->posters);
    free((void *)report->posts);
}

static void print_slice(const struct report *report, int self, const char *name,
                        const tern_plan_range *range, uint64_t length)
{
    char owner[32] = "";
    if (range->rank != self) {
        snprintf(owner, sizeof owner, "rankId:%u, ", range->rank);
    }
    fprintf(report->file, "%s=DataSlice[%sBufferType::%s, offset=%" PRIu64 ", size=%" PRIu64 "]",
            name, owner, buffer_types[range->buffer], range->offset, length);
}

static void print_transfer(const struct report *report, int self, const tern_plan_op *op)
{
    bool reads = false;
    bool writes = false;
    for (int i = 0; i < op->sources_count; i++) {
        reads = reads || op->sources[i].rank != self;
    }
    for (int i = 0; i < op->destinations_count; i++) {
        writes = writes || op->destinations[i].rank != self;
    }
    fprintf(report->file, "%s%s[",
            writes  ? "Write"
            : reads ? "Read"
                    : "Local",
            op->kind == TERN_PLAN_REDUCE ? "Reduce"
            : writes || reads            ? ""
                                         : "Copy");
    for (int i = 0; i < op->sources_count; i++) {
        print_slice(report, self, "srcSlice", &op->sources[i], op->length);
        fputs(", ", report->file);
    }
    for (int i = 0; i < op->destinations_count; i++) {
        print_slice(report, self, "dstSlice", &op->destinations[i], op->length);
        fputs(i + 1 < op->destinations_count ? ", " : "]", report->file);
    }
}

static void print_task(const struct report *report, int rank, int lane, size_t index)
{
    tern_plan_op op;
    if (tern_plan_get_op(report->plan, rank, lane, index, &op) != TERN_OK) {
        return;
    }
    fprintf(report->file, "    [rankId:%d, queueId:%d, index:%zu] ", rank, lane, index);
    if (op.kind == TERN_PLAN_POST && op.peer == rank) {
        fprintf(report->file, "LocalPostTo[topicId:%u]", op.signal);
    } else if (op.kind == TERN_PLAN_POST) {
        fprintf(report->file, "Post[remoteRank:%d, topicId:%u]", op.peer, op.signal);
    } else if (op.kind == TERN_PLAN_WAIT) {
        uint16_t poster = report->posters[rank][op.signal];
        char from[40] = "";
        if (poster != NOBODY && poster != SEVERAL && poster != rank + 1) {
            snprintf(from, sizeof from, "remoteRank:%d, ", poster - 1);
        }
        fprintf(report->file, "%s[%stopicId:%u, count:%u]",
                poster == rank + 1 ? "LocalWaitFrom" : "Wait", from, op.signal, op.count);
    } else {
        print_transfer(report, rank, &op);
    }
    fputc('\n', report->file);
}

// The last op of a queue but for copies of nothing; false when there is none.
static bool last_of(const struct report *report, int rank, int lane, tern_plan_op *op)
{
    for (size_t i = tern_plan_op_count(report->plan, rank, lane); i-- > 0;) {
        if (tern_plan_get_op(report->plan, rank, lane, i, op) == TERN_OK &&
            (op->kind != TERN_PLAN_COPY || op->length > 0)) {
            return true;
        }
    }
    return false;
}

// Whether a slave queue is begun and ended by its own rank, as that tool wants it.
static bool is_framed(const struct report *report, int rank, int lane)
{
    tern_plan_op first;
    tern_plan_op last;
    return !last_of(report, rank, lane, &last) ||
           (tern_plan_get_op(report->plan, rank, lane, 0, &first) == TERN_OK &&
            first.kind == TERN_PLAN_WAIT &&
            report->posters[rank][first.signal] == (uint16_t)(rank + 1) &&
            last.kind == TERN_PLAN_POST && last.peer == rank);
}

static void look_at_structure(struct report *report, bool print)
{
    size_t found = 0;
    for (int rank = 0; rank < tern_plan_get_spec(report->plan)->nranks; rank++) {
        for (int lane = 1; lane < tern_plan_lane_count(report->plan, rank); lane++) {
            if (is_framed(report, rank, lane)) {
                continue;
            }
            found++;
            if (print && found <= NOTES_MAX) {
                fprintf(report->file,
                        "note structure: [rankId:%d, queueId:%d] is not begun by a local wait and "
                        "ended by a local post\n",
                        rank, lane);
            }
        }
    }
    if (print && found > NOTES_MAX) {
        fprintf(report->file, "note structure: and %zu more\n", found - NOTES_MAX);
    }
    report->unframed = found;
}

static void print_line(const struct report *report, const char *name, tern_check_rule rule)
{
    size_t count = tern_check_count(report->check, rule);
    if (count > 0) {
        fprintf(report->file, "%-14s %zu\n", name, count);
    } else {
        fprintf(report->file, "%-14s %s\n", name,
                tern_check_decided(report->check, rule) ? "ok" : "not decided");
    }
}

static void print_summary(const struct report *report)
{
    FILE *file = report->file;
    if (report->unframed > 0) {
        fprintf(file, "%-14s ok, %zu note%s\n", "structure", report->unframed,
                report->unframed == 1 ? "" : "s");
    } else {
        fprintf(file, "%-14s ok\n", "structure");
    }
    print_line(report, "sync", TERN_CHECK_DEADLOCK);
    print_line(report, "bounds", TERN_CHECK_BOUNDS);
    print_line(report, "conflicts", TERN_CHECK_RACE);
    print_line(report, "semantics", TERN_CHECK_RESULT);
    print_line(report, "links", TERN_CHECK_LINK);
    fprintf(file, "%-14s ok: signals count, none is lost", "lost notifies");
    if (report->counted > 0) {
        fprintf(file, " (%zu of %zu are posted more than once; a 1-bit notify would not do)",
                report->counted, report->signals);
    }
    fputc('\n', file);
}

static void print_findings(const struct report *report, tern_check_rule rule)
{
    const char *text;
    tern_check_detail detail;
    size_t kept = 0;
    while ((text = tern_check_finding(report->check, rule, kept)) != NULL &&
           tern_check_get_detail(report->check, rule, kept, &detail)) {
        if (codes[detail.cause] != 0) {
            fprintf(report->file, "error %d: %s\n", codes[detail.cause], text);
        } else {
            fprintf(report->file, "error: %s\n", text);
        }
        for (int i = 0; i < detail.ops_count; i++) {
            print_task(report, detail.ops[i].rank, detail.ops[i].lane, detail.ops[i].index);
        }
        kept++;
    }
    if (kept < tern_check_count(report->check, rule)) {
        fprintf(report->file, "error: and %zu more\n",
                tern_check_count(report->check, rule) - kept);
    }
}

int check_print_hccl(const tern_check *check, const tern_plan *plan, bool in_place, FILE *file)
{
    struct report report = {.check = check, .plan = plan, .file = file};
    bool good = prepare(&report);
    if (good) {
        look_at_structure(&report, false);
        print_summary(&report);
        if (tern_check_count(check, TERN_CHECK_REACH) > 0) {
            print_line(&report, "reach", TERN_CHECK_REACH);
        }
        if (in_place) {
            print_line(&report, "in place", TERN_CHECK_IN_PLACE);
        }
        look_at_structure(&report, true);
        for (int rule = 0; rule < TERN_CHECK_RULES; rule++) {
            print_findings(&report, (tern_check_rule)rule);
        }
        if (tern_check_sum_order(check) == TERN_CHECK_ORDER_ANY) {
            fputs("note conflicts: reduces into one range at the same time are no conflict; the "
                  "order of float sums is not fixed\n",
                  file);
        }
        fprintf(file, "check %s: %d ranks, %zu tasks\n",
                tern_check_proved(check) ? "success" : "failed", tern_plan_get_spec(plan)->nranks,
                tern_plan_total_ops(plan));
    }
    clean_up(&report);
    return good ? 0 : -1;
}
