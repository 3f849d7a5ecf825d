// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job are doing, as text or JSON. What is read may change while it is read:
// every record is whole, but two of them may be moments apart.

#include "tern/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "coll/job_head.h"
#include "coll/job_json.h"
#include "coll/job_machines.h"
#include "coll/record_algorithm.h"
#include "sync/doing.h"

_Static_assert(TERN_JOB_CALLS_MAX == TERN__RECORDS, "one number, two headers");

// A rank as it was when it was looked at.
struct seen {
    int rank;
    int pid;
    const char *state;
    char doing[600];
    int count;
    struct tern__recorded calls[TERN__RECORDS];
};

static void time_text(int64_t ns, char *text, size_t size)
{
    double value = (double)ns;
    const char *unit = value < 1e3 ? "ns" : value < 1e6 ? "us" : value < 1e9 ? "ms" : "s";
    value /= value < 1e3 ? 1 : value < 1e6 ? 1e3 : value < 1e9 ? 1e6 : 1e9;
    snprintf(text, size,
             value < 9.995   ? "%.2f %s"
             : value < 99.95 ? "%.1f %s"
                             : "%.0f %s",
             value, unit);
}

// What a call waits for: " for rank 2 at lane 0, op 3".
static void stuck_text(const struct tern__recorded *call, char *text, size_t size)
{
    char rank[32] = "";
    char op[48] = "";
    if (call->stuck_rank >= 0) {
        snprintf(rank, sizeof rank, " for rank %d", call->stuck_rank);
    }
    if (call->stuck_op >= 0) {
        snprintf(op, sizeof op, " at lane %d, op %d", call->stuck_lane, call->stuck_op);
    }
    snprintf(text, size, "%s%s", rank, op);
}

static bool is_open(const struct tern__recorded *call)
{
    return call->state == TERN__RECORD_ENTERED || call->state == TERN__RECORD_WAITING;
}

static void look_at_rank(const struct tern__ctl *ctl, int rank, int64_t now_ns, struct seen *seen)
{
    static const char *const states[] = {
        [TERN__LIFE_ABSENT] = "absent",   [TERN__LIFE_RUNS] = "alive",
        [TERN__LIFE_STOPPED] = "stopped", [TERN__LIFE_LEFT] = "left",
        [TERN__LIFE_DEAD] = "dead",
    };
    struct tern__doing doing;
    char since[32] = "";
    char more[48] = "";
    tern__doing_look(ctl, rank, &doing);
    memset(seen, 0, sizeof *seen);
    seen->rank = rank;
    seen->pid = doing.pid;
    seen->state = states[doing.life];
    seen->count = tern__records_read(ctl, rank, seen->calls);
    tern__doing_text(&doing, false, seen->doing, sizeof seen->doing);
    if (doing.in_call && doing.call.begin_ns > 0) {
        char age[24];
        time_text(now_ns - doing.call.begin_ns, age, sizeof age);
        snprintf(since, sizeof since, ", for %s", age);
    }
    if (doing.open > 1) {
        snprintf(more, sizeof more, "; %d more %s open", doing.open - 1,
                 doing.open == 2 ? "is" : "are");
    }
    size_t used = strlen(seen->doing);
    snprintf(seen->doing + used, sizeof seen->doing - used, "%s%s", since, more);
}

static void text_calls(FILE *file, const struct seen *seen, int last, int64_t now_ns)
{
    if (seen->count == 0 || last == 0) {
        return;
    }
    fprintf(
        file,
        "\nrank %d, last calls\n"
        "    call  comm  kind              bytes  dtype op      algorithm      way        state    "
        "began         took\n",
        seen->rank);
    for (int i = 0; i < seen->count && i < last; i++) {
        const struct tern__recorded *call = &seen->calls[i];
        bool ended = !is_open(call);
        char began[32] = "-";
        char took[24] = "-";
        char stuck[80] = "";
        char op[24];
        char bytes[24] = "-"; // a barrier has none
        bool barrier = call->signature.kind == TERN_COLL_BARRIER;
        if (!barrier) {
            snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)call->bytes);
        }
        snprintf(op, sizeof op, "%-5s %s",
                 barrier ? "" : tern_dtype_name((tern_dtype)call->signature.dtype),
                 tern__kind_facts(call->signature.kind)->sums
                     ? tern_reduce_op_name((tern_reduce_op)call->signature.op)
                     : "");
        if (call->begin_ns > 0) {
            char age[24];
            time_text(now_ns - call->begin_ns, age, sizeof age);
            snprintf(began, sizeof began, "%s ago", age);
        }
        if (call->begin_ns > 0 && ended && call->end_ns > 0) {
            time_text(call->end_ns - call->begin_ns, took, sizeof took);
        }
        if (call->state != TERN__RECORD_DONE) {
            stuck_text(call, stuck, sizeof stuck);
        }
        fprintf(file, "%8llu  %4d  %-16s %6s  %-13s %-14s %-10s %-8s %-13s %s%s%s%s\n",
                (unsigned long long)call->sequence, call->comm_slot,
                tern_coll_kind_name((tern_coll_kind)call->signature.kind), bytes, op,
                tern__record_algorithm(call), tern__way_name(call->way),
                tern__record_state_name(call->state), began, took, stuck,
                call->state == TERN__RECORD_FAILED ? ": " : "",
                call->state == TERN__RECORD_FAILED ? tern_status_text(call->status) : "");
    }
}

static void json_call(FILE *file, const struct tern__recorded *call, int64_t now_ns)
{
    const struct tern__signature *signature = &call->signature;
    fprintf(file, "{\"call\":%llu,\"communicator\":%d,\"bytes\":%llu",
            (unsigned long long)call->sequence, call->comm_slot, (unsigned long long)call->bytes);
    tern__job_json_field(file, "kind", tern_coll_kind_name((tern_coll_kind)signature->kind));
    if (signature->kind != TERN_COLL_BARRIER) {
        tern__job_json_field(file, "dtype", tern_dtype_name((tern_dtype)signature->dtype));
    }
    if (tern__kind_facts(signature->kind)->sums) {
        tern__job_json_field(file, "op", tern_reduce_op_name((tern_reduce_op)signature->op));
    }
    if (tern__kind_facts(signature->kind)->root != TERN_KIND_ROOT_NONE) {
        fprintf(file, ",\"root\":%d", signature->root);
    }
    tern__job_json_field(file, "algorithm", tern__record_algorithm(call));
    tern__job_json_field(file, "way", tern__way_name(call->way));
    tern__job_json_field(file, "state", tern__record_state_name(call->state));
    if (call->begin_ns > 0) {
        int64_t age = now_ns - call->begin_ns;
        fprintf(file, ",\"began_ns_ago\":%lld", (long long)age);
    }
    if (call->begin_ns > 0 && !is_open(call) && call->end_ns > 0) {
        fprintf(file, ",\"took_ns\":%lld", (long long)(call->end_ns - call->begin_ns));
    }
    if (call->state != TERN__RECORD_DONE && call->stuck_rank >= 0) {
        fprintf(file, ",\"waits_for_rank\":%d", call->stuck_rank);
    }
    if (call->state != TERN__RECORD_DONE && call->stuck_op >= 0) {
        fprintf(file, ",\"lane\":%d,\"op_index\":%d", call->stuck_lane, call->stuck_op);
    }
    if (call->state == TERN__RECORD_FAILED) {
        tern__job_json_field(file, "status", tern_status_name(call->status));
    }
    fputc('}', file);
}

// One look at a job.
struct look {
    const struct tern__ctl *ctl;
    // Looked at before the ranks: where a communicator is said to have failed because a rank is
    // dead, that rank is dead.
    bool failed[TERN__COMM_SLOTS];
    struct seen *seen;
    int last; // calls of each rank that are told
    int64_t now_ns;
};

// The communicators that have failed, and why.
static void failures(FILE *file, const struct look *look, tern_job_form form)
{
    bool first = true;
    for (int slot = 0; slot < TERN__COMM_SLOTS; slot++) {
        const struct tern__ctl_comm *comm = &look->ctl->comms[slot];
        char text[TERN__FAILURE_BYTES];
        if (!look->failed[slot]) {
            continue;
        }
        snprintf(text, sizeof text, "%.*s", TERN__FAILURE_BYTES - 1, comm->failed_text);
        if (form == TERN_JOB_TEXT) {
            fprintf(file, "communicator %d has failed: %s\n", slot, text);
            continue;
        }
        fprintf(file, "%s{\"communicator\":%d", first ? "" : ",", slot);
        tern__job_json_field(file, "status", tern_status_name(comm->failed_status));
        tern__job_json_field(file, "text", text);
        fputc('}', file);
        first = false;
    }
}

static void text_job(FILE *file, const struct look *look)
{
    const struct seen *seen = look->seen;
    int nranks = (int)look->ctl->nranks;
    int machines = look->ctl->machines.count;
    bool several = machines > 1;
    int width = several ? tern__job_machine_width(look->ctl) + 2 : 0;
    fprintf(file, "job of %d %s", nranks, nranks == 1 ? "rank" : "ranks");
    if (several) {
        fprintf(file, " on %d machines", machines);
    }
    fputc('\n', file);
    tern__job_machines_text(file, look->ctl, look->now_ns);
    failures(file, look, TERN_JOB_TEXT);
    fprintf(file, "rank  %-*sprocess  state      calls  what it does\n", width,
            several ? "machine" : "");
    for (int rank = 0; rank < nranks; rank++) {
        unsigned long long calls = 0;
        if (seen[rank].count > 0) {
            calls = (unsigned long long)seen[rank].calls[0].number;
        }
        fprintf(file, "%4d  %-*s%7d  %-8s  %6llu  %s\n", rank, width,
                tern__job_machine(look->ctl, rank), seen[rank].pid, seen[rank].state, calls,
                seen[rank].doing);
    }
    for (int rank = 0; rank < nranks; rank++) {
        text_calls(file, &seen[rank], look->last, look->now_ns);
    }
}

static void json_job(FILE *file, const struct look *look)
{
    const struct seen *seen = look->seen;
    int nranks = (int)look->ctl->nranks;
    fprintf(file, "{\"nranks\":%d,", nranks);
    tern__job_machines_json(file, look->ctl, look->now_ns);
    fprintf(file, "\"failed\":[");
    failures(file, look, TERN_JOB_JSON);
    fprintf(file, "],\"ranks\":[");
    for (int rank = 0; rank < nranks; rank++) {
        fprintf(file, "%s{\"rank\":%d,\"process\":%d", rank > 0 ? ",\n" : "\n", rank,
                seen[rank].pid);
        if (look->ctl->machines.count > 1) {
            tern__job_json_field(file, "machine", tern__job_machine(look->ctl, rank));
        }
        tern__job_json_field(file, "state", seen[rank].state);
        tern__job_json_field(file, "doing", seen[rank].doing);
        fprintf(file, ",\"calls\":[");
        for (int i = 0; i < seen[rank].count && i < look->last; i++) {
            fputs(i > 0 ? ",\n " : "\n ", file);
            json_call(file, &seen[rank].calls[i], look->now_ns);
        }
        fprintf(file, "]}");
    }
    fprintf(file, "]}");
}

static int report_job(FILE *file, const struct tern__ctl *ctl, int last, tern_job_form form)
{
    int nranks = (int)ctl->nranks;
    struct look look = {.ctl = ctl, .last = last};
    look.seen = calloc((size_t)nranks, sizeof *look.seen);
    if (look.seen == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to look at %d ranks", nranks);
    }
    for (int slot = 0; slot < TERN__COMM_SLOTS; slot++) {
        look.failed[slot] =
            tern__peek(&ctl->slots[slot]) != 0 &&
            tern__flag_load(&ctl->comms[slot].failed) == TERN__FAILED; // partner: tern__group_fail
    }
    for (int rank = 0; rank < nranks; rank++) {
        look_at_rank(ctl, rank, tern__now_ns(), &look.seen[rank]);
    }
    look.now_ns = tern__now_ns();
    (form == TERN_JOB_JSON ? json_job : text_job)(file, &look);
    free(look.seen);
    return TERN_OK;
}

static int report_jobs(FILE *file, const struct tern__jobs *jobs, int last, tern_job_form form)
{
    int status = TERN_OK;
    fputs(form == TERN_JOB_JSON ? "{\"jobs\":[" : "", file);
    for (int i = 0; status == TERN_OK && i < jobs->count; i++) {
        fputs(i == 0 ? "" : form == TERN_JOB_JSON ? "," : "\n", file);
        status = report_job(file, jobs->ctl[i], last, form);
    }
    fputs(form == TERN_JOB_JSON ? "]}\n" : "", file);
    return status;
}

int tern_job_report(int pid, int last, tern_job_form form, char **text)
{
    if (text == NULL || (form != TERN_JOB_TEXT && form != TERN_JOB_JSON)) {
        return tern__fail(TERN_ERR_ARG, "tern_job_report: %s",
                          text == NULL ? "text must not be NULL" : "there is no such form");
    }
    if (last < 0 || last > TERN_JOB_CALLS_MAX) {
        return tern__fail(TERN_ERR_ARG, "tern_job_report: %d calls; there are 0 to %d", last,
                          TERN_JOB_CALLS_MAX);
    }
    struct tern__jobs jobs;
    char *made = NULL;
    size_t length = 0;
    TERN_TRY(tern__jobs_open(pid, &jobs));
    FILE *file = open_memstream(&made, &length);
    int status = file != NULL ? report_jobs(file, &jobs, last, form) : TERN_ERR_MEMORY;
    tern__jobs_close(&jobs);
    bool written = file != NULL && fclose(file) == 0;
    if (status == TERN_OK && !written) {
        status = TERN_ERR_MEMORY;
    }
    if (status == TERN_OK) {
        *text = made;
        return TERN_OK;
    }
    free(made);
    return status == TERN_ERR_MEMORY
               ? tern__fail(status, "no memory for the report on process %d", pid)
               : status;
}
