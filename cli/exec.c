// SPDX-License-Identifier: Apache-2.0
// `tern exec`: runs a plan file on this machine with made-up data, and compares every output of every
// run with what the plan's kind says. The command starts itself once per rank. The numbers are small
// and whole, so that sums are exact in every element type and in any order.

#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"
#include "ranks.h"
#include "suggest.h"
#include "tern/exec.h"
#include "tern/trace.h"

#define RUNS_MAX 1000000
#define UNTOUCHED 0xa5 // every byte of an output before a run

static const char help[] =
    "usage: tern exec FILE -n N [--dtype D] [--op O] [--runs R] [--seed S] [--trace FILE]\n"
    "\n"
    "Runs a plan on N ranks of this machine, compares the outputs of every run, and counts the\n"
    "bytes on each directed link.\n"
    "\n"
    "  -n N               how many ranks; the plan must be for as many\n"
    "  --dtype D          element type, of the plan's unit; default: f32, f64, f16 or u8\n"
    "  --op O             sum, prod, max or min; default: sum\n"
    "  --runs R           how many runs in a row; default: 10\n"
    "  --seed S           of the data; default: 1\n"
    "  --trace FILE       write a Chrome trace of all ranks, for Perfetto\n"
    "  -h, --help         print this text\n"
    "\n"
    "Exit status: 0 right, 1 a wrong output or a failed run, 2 wrong usage, 125 when the ranks\n"
    "cannot be started.\n";

struct arguments {
    const char *file;
    int nranks;
    const char *dtype_word;
    tern_dtype dtype;
    tern_reduce_op op;
    long runs, seed;
    const char *trace;
    bool is_rank; // this process is one of the ranks
};

static int TERN_PRINTF(1, 2) wrong_usage(const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tern exec: %s; see 'tern exec --help'\n", sentence);
    return CLI_EXIT_USAGE;
}

static bool read_number(const char *text, long low, long high, long *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 10 || strspn(text, "0123456789") != length) {
        return false;
    }
    long value = atol(text);
    if (value < low || value > high) {
        return false;
    }
    *number = value;
    return true;
}

// Made-up data and the check of it know these operations.
static bool read_op(const char *word, tern_reduce_op *op)
{
    tern_reduce_op read;
    if (tern_reduce_op_parse(word, &read) != TERN_OK ||
        (read != TERN_SUM && read != TERN_PROD && read != TERN_MAX && read != TERN_MIN)) {
        return false;
    }
    *op = read;
    return true;
}

static const struct option known[] = {
    {"dtype", required_argument, NULL, 'd'}, {"op", required_argument, NULL, 'o'},
    {"runs", required_argument, NULL, 'r'},  {"seed", required_argument, NULL, 's'},
    {"trace", required_argument, NULL, 't'}, {"as-rank", no_argument, NULL, 'R'},
    {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};

// Returns -1 to go on, else the exit status.
static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    long number;
    int code;
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":n:h", known, NULL)) != -1) {
        switch (code) {
        case 'n':
            if (!read_number(optarg, 1, TERN_RANKS_MAX, &number)) {
                return wrong_usage("-n takes a number of ranks from 1 to %d, not '%s'",
                                   TERN_RANKS_MAX, optarg);
            }
            arguments->nranks = (int)number;
            break;
        case 'd':
            if (tern_dtype_parse(optarg, &arguments->dtype) != TERN_OK) {
                return wrong_usage("--dtype: %s", tern_last_error());
            }
            arguments->dtype_word = optarg;
            break;
        case 'o':
            if (!read_op(optarg, &arguments->op)) {
                return wrong_usage("--op takes sum, prod, max or min, not '%s'", optarg);
            }
            break;
        case 'r':
            if (!read_number(optarg, 1, RUNS_MAX, &arguments->runs)) {
                return wrong_usage("--runs takes a number from 1 to %d, not '%s'", RUNS_MAX,
                                   optarg);
            }
            break;
        case 's':
            if (!read_number(optarg, 0, 2147483647, &arguments->seed)) {
                return wrong_usage("--seed takes a number from 0 to 2147483647, not '%s'", optarg);
            }
            break;
        case 't':
            arguments->trace = optarg;
            break;
        case 'R':
            arguments->is_rank = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case ':':
            return wrong_usage("%s needs a value", argv[optind - 1]);
        default:
            return wrong_usage("there is no option '%s'%s", argv[optind - 1],
                               cli_suggest_option(argv[optind - 1], known));
        }
    }
    if (argc - optind != 1) {
        return wrong_usage(argc == optind ? "which FILE?" : "only one FILE can be run");
    }
    if (arguments->nranks == 0) {
        return wrong_usage("-n N is missing: how many ranks?");
    }
    arguments->file = argv[optind];
    if (strcmp(arguments->file, "-") == 0) {
        return wrong_usage("FILE is read by every rank, so it cannot be standard input");
    }
    struct stat state;
    if (stat(arguments->file, &state) == 0 && !S_ISREG(state.st_mode)) {
        return wrong_usage("FILE is read by every rank, so it must be a file; '%s' is none",
                           arguments->file);
    }
    return -1;
}

static tern_dtype usual_dtype(uint32_t unit)
{
    return unit == 4 ? TERN_F32 : unit == 8 ? TERN_F64 : unit == 2 ? TERN_F16 : TERN_U8;
}

// What a run is checked with.
struct job {
    const struct arguments *arguments;
    const tern_plan_spec *spec;
    int rank;
    long run;
    int8_t *in;        // the input of this rank in even runs; odd runs add 1, so that a stale
    int16_t *expected; // output shows; and what must come of it
};

// Element i of a rank's input in even runs: whole numbers whose sum over 64 ranks every type holds, or
// factors whose product it does.
static int value_at(const struct job *job, int rank, uint64_t i)
{
    uint64_t hash = (uint64_t)job->arguments->seed * 1000003;
    hash = (hash + (uint64_t)rank) * UINT64_C(0x9e3779b97f4a7c15) + i;
    hash = (hash ^ (hash >> 31)) * UINT64_C(0xbf58476d1ce4e5b9);
    hash ^= hash >> 29;
    if (job->arguments->op == TERN_PROD) {
        return rank < 3 ? 1 + (int)(hash % 3) : 1;
    }
    bool is_unsigned = job->arguments->dtype >= TERN_U8;
    return is_unsigned ? (int)(hash % 4) : (int)(hash % 4) - 1;
}

static int combined_at(const struct job *job, uint64_t i)
{
    int acc = value_at(job, 0, i);
    for (int rank = 1; rank < job->spec->nranks; rank++) {
        int next = value_at(job, rank, i);
        switch (job->arguments->op) {
        case TERN_SUM:
            acc += next;
            break;
        case TERN_PROD:
            acc *= next;
            break;
        case TERN_MAX:
            acc = next > acc ? next : acc;
            break;
        case TERN_MIN:
            acc = next < acc ? next : acc;
            break;
        default: // --op takes no other
            break;
        }
    }
    return acc;
}

// Element i of this rank's output, as tern/plan.h says for the kind.
static int expected_at(const struct job *job, uint64_t i)
{
    uint64_t count = job->spec->bytes / job->spec->unit;
    uint64_t share = count / (uint64_t)job->spec->nranks;
    uint64_t own = (uint64_t)job->rank * share;
    switch (job->spec->kind) {
    case TERN_PLAN_ALL_REDUCE:
    case TERN_PLAN_REDUCE_TO_ROOT:
        return combined_at(job, i);
    case TERN_PLAN_REDUCE_SCATTER:
        return combined_at(job, own + i);
    case TERN_PLAN_ALL_GATHER:
    case TERN_PLAN_GATHER:
        return value_at(job, (int)(i / share), i % share);
    case TERN_PLAN_BROADCAST:
        return value_at(job, job->spec->root, i);
    case TERN_PLAN_SCATTER:
        return value_at(job, job->spec->root, own + i);
    case TERN_PLAN_ALL_TO_ALL:
        return value_at(job, (int)(i / share), own + i % share);
    case TERN_PLAN_BARRIER:
        break;
    }
    return 0;
}

// A small whole number as an element; exact in all types.
static void put_element(char *to, tern_dtype dtype, int value)
{
    float single = (float)value;
    double wide = value;
    int64_t whole = value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    uint16_t brain = (uint16_t)(bits >> 16);
    uint32_t exponent = (bits >> 23) & 0xffu;
    uint32_t half = value == 0 ? 0 : (exponent - 112) << 10 | (bits >> 13 & 0x3ffu);
    uint16_t narrow = (uint16_t)((bits >> 16 & 0x8000u) | half);
    const void *from = dtype == TERN_F32    ? (const void *)&single
                       : dtype == TERN_F64  ? (const void *)&wide
                       : dtype == TERN_F16  ? (const void *)&narrow
                       : dtype == TERN_BF16 ? (const void *)&brain
                                            : (const void *)&whole;
    memcpy(to, from, tern_dtype_size(dtype));
}

// What odd runs add to every input, and what that adds to every output. Products stay as they are.
static int shift_in(const struct job *job)
{
    return job->run % 2 != 0 && job->arguments->op != TERN_PROD ? 1 : 0;
}

static int shift_out(const struct job *job)
{
    tern_plan_kind kind = job->spec->kind;
    bool reduces = kind == TERN_PLAN_ALL_REDUCE || kind == TERN_PLAN_REDUCE_SCATTER ||
                   kind == TERN_PLAN_REDUCE_TO_ROOT;
    bool sums = reduces && job->arguments->op == TERN_SUM;
    return shift_in(job) * (sums ? job->spec->nranks : 1);
}

// Whether this rank has an output: of some kinds only the root has one.
static bool has_output(const struct job *job)
{
    tern_plan_kind kind = job->spec->kind;
    bool root_only = kind == TERN_PLAN_REDUCE_TO_ROOT || kind == TERN_PLAN_GATHER;
    return !root_only || job->rank == job->spec->root;
}

static int prepare_data(struct job *job, uint64_t in_count, uint64_t out_count)
{
    job->in = malloc(in_count + 1);
    job->expected = malloc((out_count + 1) * sizeof *job->expected);
    if (job->in == NULL || job->expected == NULL) {
        fputs("tern exec: not enough memory for the data\n", stderr);
        return 1;
    }
    for (uint64_t i = 0; i < in_count; i++) {
        job->in[i] = (int8_t)value_at(job, job->rank, i);
    }
    for (uint64_t i = 0; i < out_count; i++) {
        job->expected[i] = (int16_t)expected_at(job, i);
    }
    return 0;
}

// Where there is no output, what lay in its place must still be there.
static int check_untouched(const struct job *job, const char *out, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if ((unsigned char)out[i] != UNTOUCHED) {
            fprintf(stderr,
                    "tern exec: run %ld: rank %d has no output, and byte %llu of its place "
                    "was written\n",
                    job->run + 1, job->rank, (unsigned long long)i);
            return 1;
        }
    }
    return 0;
}

static int check_output(const struct job *job, const char *out, uint64_t count)
{
    size_t size = job->spec->unit;
    if (!has_output(job)) {
        return check_untouched(job, out, count * size);
    }
    for (uint64_t i = 0; i < count; i++) {
        char expected[8];
        int value = job->expected[i] + shift_out(job);
        put_element(expected, job->arguments->dtype, value);
        if (memcmp(out + i * size, expected, size) != 0) {
            fprintf(stderr, "tern exec: run %ld: element %llu of the output of rank %d is not %d\n",
                    job->run + 1, (unsigned long long)i, job->rank, value);
            return 1;
        }
    }
    return 0;
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// All runs; 0, 1 for a wrong output, or a negative status.
static int run_all(tern_comm *comm, struct job *job, const tern_plan *plan, tern_exec *exec,
                   const tern_exec_options *options, double *times)
{
    uint64_t in_bytes = tern_plan_buffer_bytes(plan, TERN_PLAN_IN);
    uint64_t out_bytes = tern_plan_buffer_bytes(plan, TERN_PLAN_OUT);
    uint64_t unit = job->spec->unit;
    char *in = tern_window_address(options->in, job->rank);
    char *out = tern_window_address(options->out, job->rank);
    int wrong = prepare_data(job, in_bytes / unit, out_bytes / unit);
    for (job->run = 0; job->run < job->arguments->runs; job->run++) {
        for (uint64_t i = 0; i < in_bytes / unit && job->in != NULL; i++) {
            put_element(in + i * unit, job->arguments->dtype, job->in[i] + shift_in(job));
        }
        memset(out, UNTOUCHED, out_bytes);
        int status = tern_comm_barrier(comm);
        double begin = now_us();
        status = status == TERN_OK ? tern_exec_run(exec) : status;
        times[job->run] = now_us() - begin;
        if (status != TERN_OK) {
            return status;
        }
        wrong = wrong != 0 ? wrong : check_output(job, out, out_bytes / unit);
    }
    return wrong;
}

// Bytes over each directed link in all runs, at [from * n + to], on rank 0. Whoever moves bytes counts
// them: the writer at the begin of a link, or the reader at its end. *wrong: whether an output of this
// rank was wrong; on rank 0 then whether one of any rank was.
static int gather_links(tern_comm *comm, const tern_exec *exec, uint64_t *links, int *wrong)
{
    int n = tern_comm_size(comm);
    int rank = tern_comm_rank(comm);
    tern_window *window;
    int status = tern_window_create(comm, ((size_t)n * 2 + 1) * sizeof *links, NULL, &window);
    if (status != TERN_OK) {
        return status;
    }
    uint64_t *own = tern_window_address(window, rank);
    for (int peer = 0; peer < n; peer++) {
        own[peer] = tern_exec_link_bytes(exec, rank, peer);
        own[n + peer] = tern_exec_link_bytes(exec, peer, rank);
    }
    own[2 * n] = (uint64_t)*wrong;
    status = tern_comm_barrier(comm);
    for (int from = 0; status == TERN_OK && rank == 0 && from < n; from++) {
        const uint64_t *begin = tern_window_address(window, from);
        *wrong = begin[2 * n] != 0 ? 1 : *wrong;
        for (int to = 0; to < n; to++) {
            const uint64_t *end = tern_window_address(window, to);
            links[from * n + to] = from == to ? 0 : begin[to] + end[n + from];
        }
    }
    status = status == TERN_OK ? tern_comm_barrier(comm) : status; // nobody leaves before
    tern_window_destroy(window);
    return status;
}

static void print_links(const struct job *job, const uint64_t *links)
{
    int n = job->spec->nranks;
    uint64_t runs = (uint64_t)job->arguments->runs;
    uint64_t sum = 0;
    int busiest = -1;
    int used = 0;
    for (int i = 0; i < n * n; i++) {
        sum += links[i];
        used += links[i] > 0;
        busiest = links[i] > 0 && (busiest < 0 || links[i] > links[busiest]) ? i : busiest;
    }
    if (busiest < 0) {
        puts("links     no bytes crossed any");
        return;
    }
    double size = job->spec->bytes > 0 ? (double)job->spec->bytes : 1;
    printf("links     %d carried bytes; a run on the busiest, %d>%d: %llu bytes, %.4f of the size; "
           "mean %.0f\n",
           used, busiest / n, busiest % n, (unsigned long long)(links[busiest] / runs),
           (double)links[busiest] / (double)runs / size, (double)sum / (double)runs / used);
    for (int i = 0; i < n * n; i++) {
        if (links[i] > 0) {
            printf("link      %d>%d %llu bytes a run\n", i / n, i % n,
                   (unsigned long long)(links[i] / runs));
        }
    }
}

static void print_result(const struct job *job, double *times, int wrong)
{
    long runs = job->arguments->runs;
    qsort(times, (size_t)runs, sizeof *times, compare_times);
    printf("%s '%s', %d ranks, %llu bytes, %s: %ld runs, %s; median %.1f us, best %.1f us\n",
           tern_plan_kind_name(job->spec->kind), job->spec->algorithm, job->spec->nranks,
           (unsigned long long)job->spec->bytes, tern_dtype_name(job->arguments->dtype), runs,
           wrong == 0 ? "right on all ranks" : "WRONG", times[runs / 2], times[0]);
}

// 0, 1 for a wrong output, or a negative status.
static int run_plan(const struct arguments *arguments, tern_comm *comm, const tern_plan *plan)
{
    struct job job = {.arguments = arguments,
                      .spec = tern_plan_get_spec(plan),
                      .rank = tern_comm_rank(comm)};
    tern_exec_options options = {.dtype = arguments->dtype,
                                 .op = arguments->op,
                                 .flags = TERN_EXEC_COUNT_LINKS};
    tern_exec *exec = NULL;
    double *times = calloc((size_t)arguments->runs, sizeof *times);
    uint64_t *links = calloc((size_t)job.spec->nranks * (size_t)job.spec->nranks, sizeof *links);
    int status = TERN_OK;
    if (times == NULL || links == NULL) {
        fputs("tern exec: not enough memory\n", stderr);
        status = 1;
    }
    if (status == TERN_OK) {
        status = tern_window_create(comm, tern_plan_buffer_bytes(plan, TERN_PLAN_IN) + 1, NULL,
                                    &options.in);
    }
    if (status == TERN_OK) {
        status = tern_window_create(comm, tern_plan_buffer_bytes(plan, TERN_PLAN_OUT) + 1, NULL,
                                    &options.out);
    }
    status = status == TERN_OK ? tern_exec_create(comm, plan, &options, &exec) : status;
    bool traced = status == TERN_OK && arguments->trace != NULL;
    status = traced ? tern_trace_begin(0) : status;
    status = status == TERN_OK ? run_all(comm, &job, plan, exec, &options, times) : status;
    if (traced && status >= 0) {
        int written = tern_trace_end(comm, arguments->trace);
        status = written < 0 ? written : status;
    }
    int gathered = status >= 0 && exec != NULL ? gather_links(comm, exec, links, &status) : TERN_OK;
    if (status >= 0 && gathered == TERN_OK && exec != NULL && job.rank == 0) {
        print_result(&job, times, status);
        print_links(&job, links);
    }
    status = status == TERN_OK ? gathered : status;
    tern_exec_destroy(exec);
    tern_window_destroy(options.in);
    tern_window_destroy(options.out);
    free(times);
    free(links);
    free(job.in);
    free(job.expected);
    return status;
}

// One rank of the job.
static int be_a_rank(const struct arguments *arguments, const tern_plan *plan)
{
    tern_comm *comm;
    int status = tern_init(NULL, &comm);
    if (status == TERN_OK) {
        status = run_plan(arguments, comm, plan);
        if (status < 0) {
            fprintf(stderr, "tern exec: %s\n", tern_last_error());
        }
        tern_comm_destroy(comm);
    } else {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
    }
    return status == 0 ? 0 : 1;
}

int cli_exec(int argc, char **argv)
{
    struct arguments arguments = {.runs = 10, .seed = 1};
    tern_plan *plan = NULL;
    // getopt moves words about; the ranks get them as they were given.
    char **given = calloc((size_t)argc + 1, sizeof *given);
    if (given == NULL) {
        fputs("tern exec: not enough memory\n", stderr);
        return CLI_EXIT_LAUNCHER_FAILED;
    }
    memcpy(given, argv, (size_t)argc * sizeof *argv);
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status < 0 && tern_plan_load(arguments.file, &plan) != TERN_OK) {
        fprintf(stderr, "tern exec: %s\n", tern_last_error());
        exit_status = CLI_EXIT_USAGE;
    }
    if (exit_status < 0) {
        const tern_plan_spec *spec = tern_plan_get_spec(plan);
        if (arguments.dtype_word == NULL) {
            arguments.dtype = usual_dtype(spec->unit);
        }
        if (spec->nranks != arguments.nranks) {
            exit_status =
                wrong_usage("the plan is for %d ranks, not %d", spec->nranks, arguments.nranks);
        } else if (tern_dtype_size(arguments.dtype) != spec->unit) {
            exit_status =
                wrong_usage("the plan's unit is %u bytes, an element of %s has %zu", spec->unit,
                            tern_dtype_name(arguments.dtype), tern_dtype_size(arguments.dtype));
        }
    }
    if (exit_status < 0) {
        exit_status = arguments.is_rank ? be_a_rank(&arguments, plan)
                                        : cli_start_ranks(arguments.nranks, argc, given);
    }
    tern_plan_destroy(plan);
    free(given);
    return exit_status;
}
