// SPDX-License-Identifier: Apache-2.0
// `tern plan`: emits the plan of a collective for a topology, and says what it costs there. Exit
// status 0: done; 1: no such plan can be made or written; 2: wrong usage.

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "suggest.h"
#include "tern/algo.h"
#include "tern/summary.h"

#define EXIT_NO_PLAN 1

static const char help[] =
    "usage: tern plan KIND --topo T [--bytes B] [OPTIONS]\n"
    "       tern plan KIND --list\n"
    "\n"
    "Emits the plan of a collective: all_reduce, reduce_scatter, all_gather, broadcast, reduce,\n"
    "gather, scatter, all_to_all or barrier. It goes to standard output, unless a file or the\n"
    "summary is asked for.\n"
    "\n"
    "  --topo T          the ranks and links: mesh:8, ring:8, hosts:2x8, this, a preset, a file\n"
    "  --cut A-B         without the link between two ranks; A>B for one direction; repeatable\n"
    "  --slow A-B=F      with F times the bandwidth on it; repeatable\n"
    "  --bytes B         the size of the larger buffer, may end in K, M or G (binary)\n"
    "  --unit U          bytes of an element: 1, 2, 4 (default) or 8\n"
    "  --algo A          this algorithm instead of the quickest\n"
    "  --order rank|any  sums in rank order (default without --algo), or any fixed order\n"
    "  --root R          of broadcast, reduce, gather and scatter; default 0\n"
    "  -o FILE           write the plan there; '-' is standard output\n"
    "  --summary         print what it costs, and the lower bound of the topology\n"
    "  --list            print the algorithms of the kind\n"
    "  -h, --help        print this text\n"
    "\n"
    "Exit status: 0 done, 1 no such plan can be made or written, 2 wrong usage.\n";

struct arguments {
    tern_algo_request request;
    bool has_kind, has_bytes, has_order, summary, list;
    const char *output;
    const char *topo;
    // --cut and --slow in the order given: one may undo or build on another.
    struct edit {
        bool cut;
        const char *links;
    } * edits;
    int edits_count;
};

static int TERN_PRINTF(1, 2) wrong_usage(const char *format, ...)
{
    char sentence[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    fprintf(stderr, "tern plan: %s; see 'tern plan --help'\n", sentence);
    return CLI_EXIT_USAGE;
}

// Digits, then nothing or K, M, G.
static bool read_bytes(const char *text, uint64_t *bytes)
{
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 15) {
        return false;
    }
    uint64_t value = strtoull(text, NULL, 10);
    const char *suffix = text + digits;
    int shift = *suffix == 'K' ? 10 : *suffix == 'M' ? 20 : *suffix == 'G' ? 30 : 0;
    if (suffix[shift > 0] != '\0' || value > (TERN_PLAN_BYTES_MAX >> shift)) {
        return false;
    }
    *bytes = value << shift;
    return true;
}

static bool read_small(const char *text, int *number)
{
    size_t length = strlen(text);
    if (length == 0 || length > 6 || strspn(text, "0123456789") != length) {
        return false;
    }
    *number = atoi(text);
    return true;
}

static int read_order(const char *text, struct arguments *arguments)
{
    bool any = strcmp(text, "any") == 0;
    if (!any && strcmp(text, "rank") != 0) {
        return wrong_usage("--order takes 'rank' or 'any', not '%s'", text);
    }
    arguments->request.order = any ? TERN_ORDER_ANY : TERN_ORDER_RANK;
    arguments->has_order = true;
    return -1;
}

enum option_code { TOPO = 256, CUT, SLOW, BYTES, UNIT, ALGO, ORDER, ROOT, SUMMARY, LIST };

// One option that takes a value. Returns -1 to go on, else the exit status.
static int read_value(int code, struct arguments *arguments)
{
    tern_algo_request *request = &arguments->request;
    int unit;
    switch (code) {
    case TOPO:
        arguments->topo = optarg;
        break;
    case CUT:
    case SLOW:
        arguments->edits[arguments->edits_count++] = (struct edit){code == CUT, optarg};
        break;
    case BYTES:
        if (!read_bytes(optarg, &request->bytes)) {
            return wrong_usage(
                "--bytes takes a number up to 2^48, as 4096, 64K, 1M or 1G, not '%s'", optarg);
        }
        arguments->has_bytes = true;
        break;
    case UNIT:
        if (!read_small(optarg, &unit)) {
            return wrong_usage("--unit takes 1, 2, 4 or 8, not '%s'", optarg);
        }
        request->unit = (uint32_t)unit;
        break;
    case ALGO:
        request->algorithm = optarg;
        break;
    case ORDER:
        return read_order(optarg, arguments);
    case ROOT:
        if (!read_small(optarg, &request->root)) {
            return wrong_usage("--root takes the number of a rank, not '%s'", optarg);
        }
        break;
    case 'o':
        arguments->output = optarg;
        break;
    default:
        break;
    }
    return -1;
}

static int read_options(int argc, char **argv, struct arguments *arguments)
{
    static const struct option known[] = {
        {"topo", required_argument, NULL, TOPO},   {"cut", required_argument, NULL, CUT},
        {"slow", required_argument, NULL, SLOW},   {"bytes", required_argument, NULL, BYTES},
        {"unit", required_argument, NULL, UNIT},   {"algo", required_argument, NULL, ALGO},
        {"order", required_argument, NULL, ORDER}, {"root", required_argument, NULL, ROOT},
        {"summary", no_argument, NULL, SUMMARY},   {"list", no_argument, NULL, LIST},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    opterr = 0;
    int code;
    while ((code = getopt_long(argc, argv, ":o:h", known, NULL)) != -1) {
        int status = -1;
        switch (code) {
        case SUMMARY:
            arguments->summary = true;
            break;
        case LIST:
            arguments->list = true;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        case ':':
            return wrong_usage("%s needs a value", argv[optind - 1]);
        case '?':
            return wrong_usage("there is no option '%s', or it takes no value%s", argv[optind - 1],
                               cli_suggest_option(argv[optind - 1], known));
        default:
            status = read_value(code, arguments);
        }
        if (status >= 0) {
            return status;
        }
    }
    return -1;
}

// What is missing or does not go together.
static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    arguments->request.unit = 4;
    int status = read_options(argc, argv, arguments);
    if (status >= 0) {
        return status;
    }
    if (argc - optind != 1) {
        return wrong_usage(argc == optind ? "which KIND of collective?" : "one KIND only");
    }
    if (tern_plan_kind_parse(argv[optind], &arguments->request.kind) < 0) {
        return wrong_usage("%s%s", tern_last_error(), cli_suggest_kind(argv[optind]));
    }
    if (arguments->list) {
        return -1;
    }
    if (arguments->topo == NULL) {
        return wrong_usage("--topo is missing: for which ranks and links?");
    }
    if (!arguments->has_bytes && arguments->request.kind != TERN_PLAN_BARRIER) {
        return wrong_usage("--bytes is missing: how large?");
    }
    if (arguments->request.algorithm != NULL && !arguments->has_order) {
        arguments->request.order = TERN_ORDER_ANY; // who names one takes its order
    }
    return -1;
}

static void print_list(tern_plan_kind kind)
{
    for (int i = 0; tern_algo_name(kind, i) != NULL; i++) {
        printf("%-17s %s\n", tern_algo_name(kind, i), tern_algo_text(kind, i));
    }
}

static int make_topo(const struct arguments *arguments, tern_topo **topo)
{
    int status = tern_topo_create(arguments->topo, topo);
    for (int i = 0; status == TERN_OK && i < arguments->edits_count; i++) {
        const struct edit *edit = &arguments->edits[i];
        status = edit->cut ? tern_topo_cut(*topo, edit->links) : tern_topo_slow(*topo, edit->links);
    }
    return status;
}

static int print_summary(const tern_plan *plan, const tern_topo *topo, FILE *file)
{
    tern_summary summary;
    int status = tern_summary_make(plan, topo, &summary);
    return status == TERN_OK ? tern_summary_print(&summary, file) : status;
}

static int make_plan(struct arguments *arguments)
{
    tern_topo *topo = NULL;
    tern_plan *plan = NULL;
    int status = make_topo(arguments, &topo);
    arguments->request.topo = topo;
    status = status == TERN_OK ? tern_algo_plan(&arguments->request, &plan) : status;
    const char *output = arguments->output;
    if (output == NULL && !arguments->summary) {
        output = "-";
    }
    if (status == TERN_OK && output != NULL) {
        status = tern_plan_save(plan, output);
    }
    if (status == TERN_OK && arguments->summary) {
        // Beside a plan on standard output the summary must not get into it.
        bool beside = output != NULL && strcmp(output, "-") == 0;
        status = print_summary(plan, topo, beside ? stderr : stdout);
    }
    if (status != TERN_OK) {
        const char *algorithm = arguments->request.algorithm;
        fprintf(stderr, "tern plan: %s%s\n", tern_last_error(),
                algorithm != NULL ? cli_suggest_algorithm(algorithm) : "");
    }
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return status == TERN_OK ? 0 : EXIT_NO_PLAN;
}

int cli_plan(int argc, char **argv)
{
    struct arguments arguments = {.edits = calloc((size_t)argc + 1, sizeof(struct edit))};
    if (arguments.edits == NULL) {
        fputs("tern plan: no memory\n", stderr);
        return EXIT_NO_PLAN;
    }
    int status = read_arguments(argc, argv, &arguments);
    if (status < 0 && arguments.list) {
        print_list(arguments.request.kind);
        status = 0;
    } else if (status < 0) {
        status = make_plan(&arguments);
    }
    free(arguments.edits);
    return status;
}
