// SPDX-License-Identifier: Apache-2.0
// `tern perf`: its command line.

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "numbers.h"
#include "options.h"
#include "perf/perf.h"
#include "perf/help.h"
#include "perf/peers.h"
#include "perf/style.h"
#include "ranks.h"
#include "suggest.h"
#include "tern/coll.h"
#include "tern/comm.h"
#include "tern/status.h"

#define BYTES_MAX (UINT64_C(1) << 40)
#define DEFAULT_MIN 8
#define DEFAULT_WARMUP 5
#define DEFAULT_MAX (UINT64_C(64) << 20)

static const struct cli_command command = {
    .name = "perf",
    .head = perf_help_head,
    .print_more = perf_print_kinds,
    .foot = perf_help_foot,
    .is_job = true,
};

// Everything as it was given, before it becomes struct perf_options.
struct given {
    struct perf_options *options;
    uint64_t min, max, step;
    long nranks, root, factor, check;                     // check: 0 or 1
    bool has_min, has_max, has_sizes, has_order, is_rank; // is_rank: the environment says so too
    long threads, gpus;                                   // of nccl-tests: that many ranks
    char nothing[16];                                     // letters that mean nothing, as given
};

static int take_style(void *into, const char *option, const char *word)
{
    struct perf_options *options = ((struct given *)into)->options;
    options->style = perf_style_find(word);
    return options->style != NULL || strcmp(word, "tern") == 0
               ? -1
               : cli_refuse(&command, "%s takes tern, hccl_test or nccl-tests, not '%s'", option,
                            word);
}

// Of a style; which one is known at the end.
static int take_nothing(void *into, const char *option, const char *word)
{
    (void)word;
    char *nothing = ((struct given *)into)->nothing;
    size_t length = strlen(nothing);
    if (length + 1 < sizeof((struct given *)into)->nothing) {
        nothing[length] = option[1];
    }
    return -1;
}

static int take_dtype(void *into, const char *option, const char *word)
{
    // As nccl-tests and hccl_test spell them.
    static const struct {
        const char *word, *name;
    } others[] = {{"float", "f32"},  {"fp32", "f32"},    {"float32", "f32"}, {"half", "f16"},
                  {"fp16", "f16"},   {"float16", "f16"}, {"bfp16", "bf16"},  {"bfloat16", "bf16"},
                  {"double", "f64"}, {"fp64", "f64"},    {"float64", "f64"}, {"int8", "i8"},
                  {"int16", "i16"},  {"int32", "i32"},   {"int", "i32"},     {"int64", "i64"},
                  {"uint8", "u8"},   {"uint16", "u16"},  {"uint32", "u32"},  {"uint64", "u64"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(word, others[i].word) == 0) {
            word = others[i].name;
        }
    }
    struct given *given = into;
    return tern_dtype_parse(word, &given->options->dtype) == TERN_OK
               ? -1
               : cli_refuse(&command, "%s: %s", option, tern_last_error());
}

static int take_op(void *into, const char *option, const char *word)
{
    struct given *given = into;
    if (tern_reduce_op_parse(word, &given->options->op) != TERN_OK) {
        return cli_refuse(&command, "%s: %s", option, tern_last_error());
    }
    return given->options->op != TERN_FUNCTION
               ? -1
               : cli_refuse(&command, "%s: a function has no word", option);
}

static int take_sizes(void *into, const char *option, const char *list)
{
    struct given *given = into;
    struct perf_options *options = given->options;
    given->has_sizes = true;
    return cli_read_sizes(list, BYTES_MAX, options->sizes, PERF_SIZES_MAX, &options->nsizes)
               ? -1
               : cli_refuse(&command, "%s takes up to %d sizes as 8,64K,1M, not '%s'", option,
                            PERF_SIZES_MAX, list);
}

static int take_algos(void *into, const char *option, const char *list)
{
    struct perf_options *options = ((struct given *)into)->options;
    snprintf(options->algo_words, sizeof options->algo_words, "%s", list);
    options->nalgos = 0;
    for (char *word = strtok(options->algo_words, ","); word != NULL; word = strtok(NULL, ",")) {
        if (options->nalgos == PERF_ALGOS_MAX) {
            return cli_refuse(&command, "%s takes up to %d algorithms", option, PERF_ALGOS_MAX);
        }
        options->algos[options->nalgos++] = word;
    }
    return options->nalgos > 0 ? -1 : cli_refuse(&command, "%s takes names of algorithms", option);
}

static int take_peers(void *into, const char *option, const char *list)
{
    struct given *given = into;
    char words[64];
    snprintf(words, sizeof words, "%s", list);
    for (char *word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) {
        int peer = perf_peer_of(word);
        if (strcmp(word, "sim") == 0) {
            given->options->sim = true;
            continue;
        }
        if (peer < 0) {
            return cli_refuse(&command, "%s takes openmpi, mpich and sim, not '%s'", option, word);
        }
        given->options->peers[peer] = true;
    }
    return -1;
}

// -b, -e and -i.
static int take_size(void *into, const char *option, const char *text)
{
    struct given *given = into;
    uint64_t *to = option[1] == 'b' ? &given->min : option[1] == 'e' ? &given->max : &given->step;
    given->has_min = given->has_min || to == &given->min;
    given->has_max = given->has_max || to == &given->max;
    return cli_read_bytes(text, strlen(text), BYTES_MAX, to) && *to > 0
               ? -1
               : cli_refuse(&command, "%s takes a size above 0, as 4096, 64K, 1M or 1G, not '%s'",
                            option, text);
}

static int take_order(void *into, const char *option, const char *text)
{
    struct given *given = into;
    given->has_order = true;
    return cli_take_order(&command, option, text, &given->options->order);
}

static int take_start(void *into, const char *option, const char *text)
{
    struct given *given = into;
    given->options->after_barrier = strcmp(text, "barrier") == 0;
    return given->options->after_barrier || strcmp(text, "clock") == 0
               ? -1
               : cli_refuse(&command, "%s takes 'clock' or 'barrier', not '%s'", option, text);
}

static int take_window(void *into, const char *option, const char *text)
{
    struct given *given = into;
    static const char *const words[] = {
        [PERF_WINDOW] = "yes", [PERF_ALLOC] = "alloc", [PERF_MALLOC] = "no"};
    for (enum perf_memory memory = PERF_WINDOW; memory <= PERF_MALLOC; memory++) {
        if (strcmp(text, words[memory]) == 0) {
            given->options->memory = memory;
            return -1;
        }
    }
    return cli_refuse(&command, "%s takes 'yes', 'no' or 'alloc', not '%s'", option, text);
}

static int take_ccl(void *into, const char *option, const char *text)
{
    struct given *given = into;
    return cli_take_ccl(&command, &given->options->executor, option, text);
}

static int take_budget(void *into, const char *option, const char *text)
{
    struct given *given = into;
    double seconds = 0;
    bool right = cli_read_seconds(text, 0.001, 3600, &seconds);
    given->options->budget_us = seconds * 1e6;
    return right ? -1
                 : cli_refuse(&command, "%s takes seconds, 0.001 to 3600, not '%s'", option, text);
}

// What the words mean once the style is known. Returns -1 to go on.
static int judge_style(struct given *given)
{
    struct perf_options *options = given->options;
    const struct perf_style *style = options->style;
    if ((given->threads > 0 || given->gpus > 0) && (style == NULL || !style->has_threads)) {
        return cli_refuse(&command, "there is no option '-%c'; the number of ranks is -p",
                          given->gpus > 0 ? 'g' : 't');
    }
    for (const char *letter = given->nothing; *letter != '\0'; letter++) {
        if (style == NULL || strchr(style->nothing, *letter) == NULL) {
            return cli_refuse(&command, "there is no option '-%c'", *letter);
        }
    }
    if (style == NULL) {
        return -1;
    }
    if (options->json || options->verbose || options->peers[0] || options->peers[1] ||
        options->sim || options->nalgos > 1) {
        return cli_refuse(&command,
                          "--style %s has lines of its own: not with --json, --verbose, "
                          "--compare or several algorithms",
                          style->word);
    }
    if (given->nothing[0] != '\0' && cli_speaks() && !given->is_rank) {
        fprintf(stderr, "tern perf: -%c", given->nothing[0]);
        for (const char *letter = given->nothing + 1; *letter != '\0'; letter++) {
            fprintf(stderr, ", -%c", *letter);
        }
        fputs(": of no meaning here, ignored\n", stderr);
    }
    long ranks = (given->threads > 0 ? given->threads : 1) * (given->gpus > 0 ? given->gpus : 1);
    if (given->nranks == 0 && (given->threads > 0 || given->gpus > 0)) {
        given->nranks = ranks;
    }
    given->min = given->has_min ? given->min : style->min;
    given->max = given->has_max ? given->max : style->max;
    options->iterations = options->iterations > 0 ? options->iterations : style->iterations;
    options->warmup = options->warmup >= 0 ? options->warmup : style->warmup;
    options->in_place = options->in_place && !style->both;
    return given->nranks <= TERN_RANKS_MAX
               ? -1
               : cli_refuse(&command, "these are %ld ranks; %d is the most", given->nranks,
                            TERN_RANKS_MAX);
}

#define START_HELP                                                                                 \
    "how all ranks begin: at one instant of the clock (default on one\n"                           \
    "machine), or after the system's own barrier (between machines)"
#define COMPARE_HELP                                                                               \
    "the same for openmpi, mpich: a small MPI program is compiled now, and\n"                      \
    "takes turns with tern at every size; sim: what the simulator says, by\n"                      \
    "what 'tern tune costs' has measured"

static int read_options(int argc, char **argv, struct given *given)
{
    struct perf_options *options = given->options;
    const struct cli_option known[] = {
        {"-p RANKS", "how many ranks, 1 to 64; default: the processors, at least 2",
         .number = &given->nranks, .least = 1, .most = TERN_RANKS_MAX},
        {"-b MIN", "from this size; K, M, G are binary; default: 8", .take = take_size},
        {"-e MAX", "to this size; default: 64M", .take = take_size},
        {"-f FACTOR", "each size is the one before times this; default: 2",
         .number = &given->factor, .least = 2, .most = 1 << 20},
        {"-i STEP", "or plus this many bytes", .take = take_size},
        {"--sizes A[,B...]", "or exactly these", .take = take_sizes},
        {"-d DTYPE",
         "f32 (default), f16, bf16, f64, i8 to i64, u8 to u64; moved only: bool,\n"
         "c64, c128, f8e4m3, f8e5m2; also float, half, fp16, bfp16, int8, ...",
         .take = take_dtype},
        {"-o OP", "sum (default), prod, max, min, avg, and, or, xor, minloc, maxloc",
         .take = take_op},
        {"-r, --root R", "of broadcast, reduce, gather and scatter; default: 0",
         .number = &given->root, .most = TERN_RANKS_MAX - 1},
        {"-w WARMUP", "calls that are not timed, before; default: 5", .number = &options->warmup,
         .most = PERF_ITERATIONS_MAX},
        {"-n ITERATIONS", "timed calls; default: 50 ms of them, 20 to 2000, within --budget",
         .number = &options->iterations, .least = 1, .most = PERF_ITERATIONS_MAX},
        {"--back-to-back", "20 calls between two beginnings, as in nccl-tests; else 1",
         .flag = &options->back_to_back},
        {"--start clock|barrier", START_HELP, .take = take_start},
        {"--buffers N",
         "calls take N pairs of buffers in turn, with other data in each, so\n"
         "that what a call needs is not in a cache from the last one; default: 1",
         .number = &options->nbuffers, .least = 1, .most = PERF_BUFFERS_MAX},
        {"--budget SECONDS", "of a system and line when -n is not given; default: 2",
         .take = take_budget},
        {"-c 0|1", "check the results of the first and the last call; default: 1",
         .number = &given->check, .most = 1},
        {"--algo A[,B...]", "these algorithms instead of what is selected, a line each",
         .take = take_algos},
        {"--order rank|any",
         "sums in rank order (default without --algo and TERN_ALGO), or any\n"
         "fixed order",
         .take = take_order},
        {"--window yes|no|alloc", "buffers in windows (default), malloc'ed, or of tern_alloc",
         .take = take_window},
        {"--executor FILE", "plans of this executor of HCCL's framework, a C++ source or object",
         .word = &options->executor.file},
        {"--executor-name NAME", "which, if it registers several", .word = &options->executor.name},
        {"--ccl-bytes B", "of each of its CCL buffers; default HCCL_BUFFSIZE MiB, else 200M",
         .take = take_ccl},
        {"--fuse", "its plans as calls run them", .flag = &options->executor.fuse},
        {"--in-place", "where the kind allows it", .flag = &options->in_place},
        {"--compare P[,Q]", COMPARE_HELP, .take = take_peers},
        {"--json", "a JSON object a line", .flag = &options->json},
        {"--plot FILE.svg", "draw time and bus bandwidth against size", .word = &options->plot},
        {"--verbose", "also how long copying as many bytes took", .flag = &options->verbose},
        {"--style S", "hccl_test or nccl-tests: as they print and count", .take = take_style},
        {"-g GPUS", .number = &given->gpus, .least = 1, .most = TERN_RANKS_MAX},
        {"-t THREADS", .number = &given->threads, .least = 1, .most = TERN_RANKS_MAX},
        {"-m N", .take = take_nothing},
        {"-N N", .take = take_nothing},
        {"-a N", .take = take_nothing},
        {"-z N", .take = take_nothing},
        {"-G N", .take = take_nothing},
        {"-R N", .take = take_nothing},
        {"-J FILE", .take = take_nothing},
        {"-T N", .take = take_nothing},
        {"--as-rank", .flag = &given->is_rank},
        {0},
    };
    return cli_read_options(&command, known, argc, argv, given);
}

// What an executor cannot be asked for with. Returns -1 to go on, else the exit status.
static int judge_executor(const struct perf_options *options)
{
    const struct cli_executor *executor = &options->executor;
    if (executor->file == NULL) {
        return executor->name == NULL && !executor->has_ccl_bytes && !executor->fuse
                   ? -1
                   : cli_refuse(&command,
                                "--executor-name, --ccl-bytes and --fuse go with --executor");
    }
    if (options->kind == PERF_KINDS || options->nalgos > 0 || options->memory != PERF_WINDOW) {
        return cli_refuse(&command, "--executor is for one kind, without --algo, in windows");
    }
    return -1;
}

// From -b, -e, -f, -i to the list of sizes.
static int make_sizes(struct given *given)
{
    struct perf_options *options = given->options;
    if (given->has_sizes) {
        options->min = options->sizes[0];
        options->max = options->sizes[options->nsizes - 1];
        bool range = given->has_min || given->has_max || given->factor > 0 || given->step > 0;
        return range ? cli_refuse(&command, "--sizes takes the place of -b, -e, -f and -i") : -1;
    }
    if (given->factor > 0 && given->step > 0) {
        return cli_refuse(&command, "-f and -i exclude each other");
    }
    if (!given->has_min && given->max < given->min) {
        given->min = given->max;
    }
    if (given->min > given->max) {
        return cli_refuse(&command, "-b %llu is more than -e %llu%s",
                          (unsigned long long)given->min, (unsigned long long)given->max,
                          given->has_max ? "" : " (the default)");
    }
    options->min = given->min;
    options->max = given->max;
    if (options->style != NULL && given->factor == 0 && given->step == 0) {
        given->step =
            options->style->step > 0 ? options->style->step : (given->max - given->min) / 10;
        given->step += given->step == 0; // only one size, or all between
    }
    uint64_t factor = given->step > 0 ? 1 : given->factor > 0 ? (uint64_t)given->factor : 2;
    for (uint64_t bytes = given->min; bytes <= given->max; bytes = bytes * factor + given->step) {
        if (options->nsizes == PERF_SIZES_MAX) {
            return cli_refuse(&command, "these are more than %d sizes", PERF_SIZES_MAX);
        }
        options->sizes[options->nsizes++] = bytes;
    }
    return -1;
}

// What cannot be asked for together. Returns -1 to go on, else the exit status.
static int judge(const struct perf_options *options)
{
    enum perf_kind kind = options->kind;
    if (options->nranks > 0 && options->root >= options->nranks) {
        return cli_refuse(&command, "--root %d: the ranks are 0 to %d", options->root,
                          options->nranks - 1);
    }
    if (kind < PERF_KINDS && options->in_place && !perf_has(kind, PERF_IN_PLACE)) {
        return cli_refuse(&command, "%s cannot be done in place", perf_shapes[kind].word);
    }
    if (kind == PERF_SEND_RECV && options->nalgos > 0) {
        return cli_refuse(&command, "send_recv has no algorithms to select from");
    }
    if (kind == PERF_BARRIER && options->plot != NULL) {
        return cli_refuse(&command, "--plot draws time against size, and a barrier has no size");
    }
    bool reduces = kind == PERF_KINDS || perf_has(kind, PERF_REDUCES);
    if (reduces && tern_reduce_element_bytes(options->dtype, options->op) == 0) {
        return cli_refuse(&command, "%s of %s does not exist", tern_reduce_op_name(options->op),
                          tern_dtype_name(options->dtype));
    }
    return -1;
}

static int read_kind(int argc, char **argv, struct perf_options *options)
{
    if (argc - optind != 1) {
        return cli_refuse(&command,
                          argc == optind ? "which KIND?" : "only one KIND can be measured");
    }
    char text[PERF_NAME_BYTES];
    const char *word = options->style != NULL ? perf_style_kind(argv[optind], text) : argv[optind];
    options->kind = perf_kind_of(word);
    if (options->style != NULL && (options->kind == PERF_BARRIER || strcmp(word, "all") == 0)) {
        return cli_refuse(&command, "--style %s measures one kind that has a size, not '%s'",
                          options->style->word, word);
    }
    if (options->kind == PERF_KINDS && strcmp(argv[optind], "all") != 0) {
        tern_coll_kind kind;
        int status = tern_coll_kind_parse(argv[optind], &kind); // for its sentence
        return status == TERN_OK
                   ? cli_refuse(&command, "'%s' cannot be measured; send_recv can", argv[optind])
                   : cli_refuse(&command, "%s, send_recv, and all%s", tern_last_error(),
                                cli_suggest_kind(argv[optind]));
    }
    return -1;
}

int perf_read_options(int argc, char **argv, struct perf_options *options)
{
    *options = (struct perf_options){.warmup = -1, .budget_us = 2e6, .nbuffers = 1};
    struct given given = {.options = options, .min = DEFAULT_MIN, .max = DEFAULT_MAX, .check = 1};
    int status = read_options(argc, argv, &given);
    status = status < 0 ? judge_style(&given) : status;
    options->warmup = options->warmup >= 0 ? options->warmup : DEFAULT_WARMUP;
    options->nranks = (int)given.nranks;
    options->root = (int)given.root;
    options->check = given.check == 1;
    status = status < 0 ? read_kind(argc, argv, options) : status;
    status = status < 0 ? make_sizes(&given) : status;
    if (status < 0 && options->nranks == 0 && !cli_is_rank()) {
        options->nranks = cli_usual_nranks();
    }
    status = status < 0 ? judge_executor(options) : status;
    if (!given.has_order && (options->nalgos > 0 || options->executor.file != NULL)) {
        options->order = TERN_ORDER_ANY;
    }
    // What TERN_ALGO names may sum in any order, too.
    const char *named = getenv("TERN_ALGO");
    options->exact =
        options->order == TERN_ORDER_ANY || (!given.has_order && named != NULL && named[0] != '\0');
    status = status < 0 ? judge(options) : status;
    options->nalgos = options->nalgos > 0 ? options->nalgos : 1;
    return status;
}
