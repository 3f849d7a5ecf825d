// SPDX-License-Identifier: Apache-2.0
// `tern perf`: its command line.

#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "perf/perf.h"
#include "perf/help.h"
#include "perf/peers.h"
#include "ranks.h"
#include "suggest.h"
#include "tern/coll.h"
#include "tern/comm.h"
#include "tern/status.h"

#define BYTES_MAX (UINT64_C(1) << 40)
#define DEFAULT_MIN 8
#define DEFAULT_MAX (UINT64_C(64) << 20)

static int TERN_PRINTF(1, 2) wrong_usage(const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (cli_speaks()) {
        fprintf(stderr, "tern perf: %s; see 'tern perf --help'\n", sentence);
    }
    return CLI_EXIT_USAGE;
}

static bool read_number(const char *text, long low, long high, long *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 10 || strspn(text, "0123456789") != length) {
        return false;
    }
    *number = atol(text);
    return *number >= low && *number <= high;
}

// Digits, then nothing or K, M, G; up to `end`.
static bool read_bytes(const char *text, const char *end, uint64_t *bytes)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 13) {
        return false;
    }
    uint64_t value = strtoull(text, NULL, 10);
    const char *suffix = text + digits;
    int shift = *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : *suffix == 'G' ? 30 : 0;
    *bytes = value << shift;
    return suffix + (shift > 0) == end && value > 0 && value <= BYTES_MAX >> shift;
}

static bool read_dtype(const char *word, tern_dtype *dtype)
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
    return tern_dtype_parse(word, dtype) == TERN_OK;
}

// Everything as it was given, before it becomes struct perf_options.
struct given {
    struct perf_options *options;
    uint64_t min, max, step;
    long factor;
    bool has_min, has_max, has_sizes, has_order;
};

static int read_sizes(const char *list, struct given *given)
{
    given->has_sizes = true;
    for (const char *word = list; word != NULL;) {
        const char *end = word + strcspn(word, ",");
        struct perf_options *options = given->options;
        if (options->nsizes == PERF_SIZES_MAX ||
            !read_bytes(word, end, &options->sizes[options->nsizes++])) {
            return wrong_usage("--sizes takes up to %d sizes as 8,64K,1M, not '%s'", PERF_SIZES_MAX,
                               list);
        }
        word = *end == ',' ? end + 1 : NULL;
    }
    return -1;
}

static int read_algos(const char *list, struct perf_options *options)
{
    snprintf(options->algo_words, sizeof options->algo_words, "%s", list);
    options->nalgos = 0;
    for (char *word = strtok(options->algo_words, ","); word != NULL; word = strtok(NULL, ",")) {
        if (options->nalgos == PERF_ALGOS_MAX) {
            return wrong_usage("--algo takes up to %d algorithms", PERF_ALGOS_MAX);
        }
        options->algos[options->nalgos++] = word;
    }
    return options->nalgos > 0 ? -1 : wrong_usage("--algo takes names of algorithms");
}

static int read_peers(const char *list, struct perf_options *options)
{
    char words[64];
    snprintf(words, sizeof words, "%s", list);
    for (char *word = strtok(words, ","); word != NULL; word = strtok(NULL, ",")) {
        int peer = perf_peer_of(word);
        if (peer < 0) {
            return wrong_usage("--compare takes openmpi, mpich or both, not '%s'", word);
        }
        options->peers[peer] = true;
    }
    return -1;
}

static int read_size(int code, const char *text, struct given *given)
{
    uint64_t *to = code == 'b' ? &given->min : code == 'e' ? &given->max : &given->step;
    if (!read_bytes(text, text + strlen(text), to)) {
        return wrong_usage("-%c takes a size above 0, as 4096, 64K, 1M or 1G, not '%s'", code,
                           text);
    }
    given->has_min = given->has_min || code == 'b';
    given->has_max = given->has_max || code == 'e';
    return -1;
}

static int read_long(const char *option, const char *text, long low, long high, long *to)
{
    return read_number(text, low, high, to)
               ? -1
               : wrong_usage("%s takes a number from %ld to %ld, not '%s'", option, low, high,
                             text);
}

static int read_order(const char *text, struct given *given)
{
    bool any = strcmp(text, "any") == 0;
    if (!any && strcmp(text, "rank") != 0) {
        return wrong_usage("--order takes 'rank' or 'any', not '%s'", text);
    }
    given->options->order = any ? TERN_ORDER_ANY : TERN_ORDER_RANK;
    given->has_order = true;
    return -1;
}

static int read_budget(const char *text, struct perf_options *options)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0.001 && seconds <= 3600)) {
        return wrong_usage("--budget takes seconds, 0.001 to 3600, not '%s'", text);
    }
    options->budget_us = seconds * 1e6;
    return -1;
}

enum option_code {
    ALGO = 256,
    ORDER,
    WINDOW,
    IN_PLACE,
    JSON,
    PLOT,
    COMPARE,
    SIZES,
    BUDGET,
    VERBOSE,
    AS_RANK
};

static const struct option known[] = {{"algo", required_argument, NULL, ALGO},
                                      {"order", required_argument, NULL, ORDER},
                                      {"window", required_argument, NULL, WINDOW},
                                      {"in-place", no_argument, NULL, IN_PLACE},
                                      {"json", no_argument, NULL, JSON},
                                      {"plot", required_argument, NULL, PLOT},
                                      {"compare", required_argument, NULL, COMPARE},
                                      {"sizes", required_argument, NULL, SIZES},
                                      {"budget", required_argument, NULL, BUDGET},
                                      {"verbose", no_argument, NULL, VERBOSE},
                                      {"as-rank", no_argument, NULL, AS_RANK},
                                      {"root", required_argument, NULL, 'r'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

// The options whose value is a number or a word. Returns -1 to go on, else the exit status.
static int read_value(int code, const char *text, struct given *given)
{
    struct perf_options *options = given->options;
    long number = 0;
    int status;
    switch (code) {
    case 'p':
        status = read_long("-p", text, 1, TERN_RANKS_MAX, &number);
        options->nranks = (int)number;
        return status;
    case 'r':
        status = read_long("--root", text, 0, TERN_RANKS_MAX - 1, &number);
        options->root = (int)number;
        return status;
    case 'c':
        status = read_long("-c", text, 0, 1, &number);
        options->check = number == 1;
        return status;
    case 'f':
        return read_long("-f", text, 2, 1 << 20, &given->factor);
    case 'w':
        return read_long("-w", text, 0, PERF_ITERATIONS_MAX, &options->warmup);
    case 'n':
        return read_long("-n", text, 1, PERF_ITERATIONS_MAX, &options->iterations);
    case 'd':
        return read_dtype(text, &options->dtype) ? -1 : wrong_usage("-d: %s", tern_last_error());
    case 'o':
        if (tern_reduce_op_parse(text, &options->op) != TERN_OK) {
            return wrong_usage("-o: %s", tern_last_error());
        }
        return options->op != TERN_FUNCTION ? -1 : wrong_usage("-o: a function has no word");
    case 'b':
    case 'e':
    case 'i':
        return read_size(code, text, given);
    default:
        return -1;
    }
}

// The long options. Returns -1 to go on, else the exit status.
static int read_long_option(int code, const char *text, struct given *given)
{
    struct perf_options *options = given->options;
    switch (code) {
    case ALGO:
        return read_algos(text, options);
    case ORDER:
        return read_order(text, given);
    case WINDOW:
        options->windows = strcmp(text, "no") != 0;
        return strcmp(text, "yes") == 0 || strcmp(text, "no") == 0
                   ? -1
                   : wrong_usage("--window takes 'yes' or 'no', not '%s'", text);
    case PLOT:
        options->plot = text;
        return -1;
    case COMPARE:
        return read_peers(text, options);
    case SIZES:
        return read_sizes(text, given);
    case BUDGET:
        return read_budget(text, options);
    case IN_PLACE:
        options->in_place = true;
        return -1;
    case JSON:
        options->json = true;
        return -1;
    case VERBOSE:
        options->verbose = true;
        return -1;
    default: // AS_RANK: the environment says so too
        return -1;
    }
}

static int unknown_option(const char *word)
{
    if (optopt == 'g' || optopt == 't') {
        return wrong_usage("there is no option '-%c'; the number of ranks is -p", optopt);
    }
    if (optopt > 0 && optopt < ALGO) {
        return wrong_usage("there is no option '-%c'", optopt);
    }
    if (optopt == 0) {
        return wrong_usage("there is no option '%s'%s", word, cli_suggest_option(word, known));
    }
    return wrong_usage("'%s': it takes no value", word);
}

// From -b, -e, -f, -i to the list of sizes.
static int make_sizes(struct given *given)
{
    struct perf_options *options = given->options;
    if (given->has_sizes) {
        bool range = given->has_min || given->has_max || given->factor > 0 || given->step > 0;
        return range ? wrong_usage("--sizes takes the place of -b, -e, -f and -i") : -1;
    }
    if (given->factor > 0 && given->step > 0) {
        return wrong_usage("-f and -i exclude each other");
    }
    if (!given->has_min && given->max < given->min) {
        given->min = given->max;
    }
    if (given->min > given->max) {
        return wrong_usage("-b %llu is more than -e %llu%s", (unsigned long long)given->min,
                           (unsigned long long)given->max, given->has_max ? "" : " (the default)");
    }
    uint64_t factor = given->step > 0 ? 1 : given->factor > 0 ? (uint64_t)given->factor : 2;
    for (uint64_t bytes = given->min; bytes <= given->max; bytes = bytes * factor + given->step) {
        if (options->nsizes == PERF_SIZES_MAX) {
            return wrong_usage("these are more than %d sizes", PERF_SIZES_MAX);
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
        return wrong_usage("--root %d: the ranks are 0 to %d", options->root, options->nranks - 1);
    }
    if (kind < PERF_KINDS && options->in_place && !perf_has(kind, PERF_IN_PLACE)) {
        return wrong_usage("%s cannot be done in place", perf_shapes[kind].word);
    }
    if (kind == PERF_SEND_RECV && options->nalgos > 0) {
        return wrong_usage("send_recv has no algorithms to choose from");
    }
    if (kind == PERF_BARRIER && options->plot != NULL) {
        return wrong_usage("--plot draws time against size, and a barrier has no size");
    }
    bool reduces = kind == PERF_KINDS || perf_has(kind, PERF_REDUCES);
    if (reduces && tern_reduce_element_bytes(options->dtype, options->op) == 0) {
        return wrong_usage("%s of %s does not exist", tern_reduce_op_name(options->op),
                           tern_dtype_name(options->dtype));
    }
    return -1;
}

static int default_nranks(void)
{
    cpu_set_t allowed;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 2;
    return count < 2 ? 2 : count > TERN_RANKS_MAX ? TERN_RANKS_MAX : count;
}

static int read_kind(int argc, char **argv, struct perf_options *options)
{
    if (argc - optind != 1) {
        return wrong_usage(argc == optind ? "which KIND?" : "only one KIND can be measured");
    }
    options->kind = perf_kind_of(argv[optind]);
    if (options->kind == PERF_KINDS && strcmp(argv[optind], "all") != 0) {
        tern_coll_kind kind;
        int status = tern_coll_kind_parse(argv[optind], &kind); // for its sentence
        return status == TERN_OK ? wrong_usage("'%s' cannot be measured", argv[optind])
                                 : wrong_usage("%s, and all%s", tern_last_error(),
                                               cli_suggest_kind(argv[optind]));
    }
    return -1;
}

int perf_read_options(int argc, char **argv, struct perf_options *options)
{
    *options = (struct perf_options){.warmup = 5, .budget_us = 2e6, .check = true, .windows = true};
    struct given given = {.options = options, .min = DEFAULT_MIN, .max = DEFAULT_MAX};
    int status = -1;
    int code;
    opterr = 0;
    while (status < 0 &&
           (code = getopt_long(argc, argv, ":p:b:e:f:i:d:o:r:w:n:c:h", known, NULL)) != -1) {
        if (code == 'h') {
            status = perf_print_help();
        } else if (code == ':') {
            status = wrong_usage("%s needs a value", argv[optind - 1]);
        } else if (code == '?') {
            status = unknown_option(argv[optind - 1]);
        } else {
            status = code < ALGO ? read_value(code, optarg, &given)
                                 : read_long_option(code, optarg, &given);
        }
    }
    status = status < 0 ? read_kind(argc, argv, options) : status;
    status = status < 0 ? make_sizes(&given) : status;
    if (status < 0 && options->nranks == 0 && !cli_is_rank()) {
        options->nranks = default_nranks();
    }
    if (!given.has_order && options->nalgos > 0) {
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
