// SPDX-License-Identifier: Apache-2.0
// `tern tune`: measures on this machine which algorithms, ways and sizes of pieces suit it,
// and writes them into a tune file. The command starts itself once per rank, for each count of
// ranks.

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "hosts.h"
#include "numbers.h"
#include "options.h"
#include "ranks.h"
#include "tern/file.h"
#include "tern/machine.h"
#include "suggest.h"
#include "tune/tune.h"

#define SECONDS_DEFAULT 60
#define SEARCH_S_DEFAULT 1
#define PATH_BYTES 4096

static const struct cli_command command = {
    .name = "tune",
    .head =
        "usage: tern tune [-p RANKS,...] [--time SECONDS] [--optimal] [--output FILE] [KIND ...]\n"
        "       tern tune --hosts a:2,b:2 [OPTIONS] [KIND ...]\n"
        "\n"
        "Measures which algorithms suit this machine, or these, and writes that into the tune file, which all\n"
        "collective calls of this user read from then on. Rows that were not measured stay as they are.\n"
        "\n"
        "  KIND ...           which kinds; default: all but barrier, which has nothing to select, and\n"
        "                     costs: what ops cost, for tern sim and tern perf --compare sim\n",
    .foot =
        "\n"
        "Exit status: 0; 1 when a job failed or the file cannot be written; 2 wrong usage; 125 when the\n"
        "ranks cannot be started.\n",
};

struct arguments {
    struct tune_wish wish;
    const char *output;
    char place[PATH_BYTES]; // the usual one
    bool usual;             // output is the usual place, whose folders are made
    const char *result;     // where a rank leaves what it found
    struct cli_hosts hosts; // then rank 0 prints it
    bool is_rank;
    bool ranks_said; // -p
};

static int take_ranks(void *into, const char *option, const char *list)
{
    struct tune_wish *wish = &((struct arguments *)into)->wish;
    ((struct arguments *)into)->ranks_said = true;
    char words[128];
    bool right = strlen(list) < sizeof words;
    snprintf(words, sizeof words, "%s", list);
    wish->nranks_count = 0;
    char *rest = words;
    for (char *word = strsep(&rest, ","); right && word != NULL; word = strsep(&rest, ",")) {
        long value = 0;
        right = wish->nranks_count < TUNE_RANK_COUNTS_MAX &&
                cli_read_number(word, 2, TERN_RANKS_MAX, &value);
        wish->nranks[right ? wish->nranks_count++ : 0] = (int)value;
    }
    return right
               ? -1
               : cli_refuse(&command, "%s takes numbers of ranks from 2 to %d, as 2,4,8, not '%s'",
                            option, TERN_RANKS_MAX, list);
}

static int read_seconds(const char *option, const char *value, double least, double *seconds)
{
    return cli_read_seconds(value, least, 1e6, seconds)
               ? -1
               : cli_refuse(&command, "%s takes a number of seconds, %g to 1000000, not '%s'",
                            option, least, value);
}

static int take_seconds(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    return read_seconds(option, value, 0.001, &arguments->wish.seconds);
}

static int take_search(void *into, const char *option, const char *value)
{
    struct arguments *arguments = into;
    arguments->wish.optimal = true;
    return read_seconds(option, value, 1e-6, &arguments->wish.search_s);
}

static int read_kinds(int argc, char **argv, struct tune_wish *wish)
{
    for (int i = optind; i < argc; i++) {
        tern_plan_kind kind;
        if (strcmp(argv[i], "costs") == 0) {
            wish->costs = true;
            continue;
        }
        if (tern_plan_kind_parse(argv[i], &kind) != TERN_OK) {
            return cli_refuse(&command, "%s%s", tern_last_error(), cli_suggest_kind(argv[i]));
        }
        if (kind == TERN_PLAN_BARRIER) {
            return cli_refuse(&command,
                              "barrier has nothing to select, so nothing is measured for it");
        }
        wish->kinds[kind] = true;
    }
    wish->costs = wish->costs || optind == argc;
    for (int k = 0; optind == argc && k < TERN_PLAN_KINDS; k++) {
        wish->kinds[k] = k != TERN_PLAN_BARRIER;
    }
    return -1;
}

static int take_env(void *into, const char *option, const char *value)
{
    return cli_take_env(&command, &((struct arguments *)into)->hosts, option, value);
}

// Returns -1 to go on, else the exit status.
static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    const struct cli_option options[] = {
        {"-p RANKS,...", "for how many ranks, each in a job of its own; default: 2,4,8",
         .take = take_ranks},
        {"--time SECONDS", "how long to measure, about; default: 60", .take = take_seconds},
        {"--optimal",
         "also try plans that are searched for (tern plan --algo optimal). On one machine\n"
         "all links are alike, and plans by hand are mostly as good",
         .flag = &arguments->wish.optimal},
        {"--search SECONDS",
         "but only where each is found so soon; default: 1; says --optimal, too",
         .take = take_search},
        {"--output FILE",
         "write there; '-': only to standard output. Default: $TERN_TUNE, else\n"
         "$XDG_CONFIG_HOME/tern/tune, else ~/.config/tern/tune; the folders\n"
         "of these last two are made",
         .word = &arguments->output},
        CLI_HOSTS_OPTIONS(&arguments->hosts, take_env),
        {"--result FILE", .word = &arguments->result},
        {"--as-rank", .flag = &arguments->is_rank},
        {0},
    };
    int status = cli_read_options(&command, options, argc, argv, arguments);
    status = status < 0 ? read_kinds(argc, argv, &arguments->wish) : status;
    status = status < 0 ? cli_read_hosts(&command, &arguments->hosts) : status;
    if (status < 0 && arguments->hosts.list != NULL) {
        if (arguments->ranks_said || arguments->hosts.nranks < 2) {
            return cli_refuse(&command, arguments->ranks_said
                                            ? "-p is for one machine: --hosts says how many ranks"
                                            : "--hosts: one rank has nothing to measure");
        }
        if (arguments->wish.costs && optind < argc) {
            return cli_refuse(&command, "costs are those of one machine: not with --hosts");
        }
        if (arguments->wish.optimal) {
            return cli_refuse(&command, "--optimal is for one machine: calls between machines "
                                        "cannot search for a plan, which might be another on each");
        }
        arguments->wish.nranks[0] = arguments->hosts.nranks;
        arguments->wish.nranks_count = 1;
    }
    return status;
}

// One rank of a job.
static int be_a_rank(struct arguments *arguments)
{
    tern_comm *world;
    tern_machine machine = {.cpus_usable = 1};
    arguments->wish.processors = tern_machine_look(&machine) == TERN_OK ? machine.cpus_usable : 1;
    cli_bind_rank();
    int status = tern_init(NULL, &world);
    if (status != TERN_OK) {
        fprintf(stderr, "tern tune: %s\n", tern_last_error());
        return 1;
    }
    FILE *rows = NULL;
    if (tern_comm_rank(world) == 0) {
        rows = arguments->hosts.list != NULL ? stdout : fopen(arguments->result, "ae");
        if (rows == NULL) {
            perror("tern tune: the results cannot be left");
            tern_comm_destroy(world);
            return 1;
        }
    }
    status = tune_measure(world, &arguments->wish, rows);
    if (status != TERN_OK) {
        fprintf(stderr, "tern tune: %s\n", tern_last_error());
    }
    bool left = rows == NULL || fclose(rows) == 0;
    tern_comm_destroy(world);
    return status == TERN_OK && left ? 0 : 1;
}

// Starts a job for each count of ranks; the rows come back through memory that is nowhere in a
// folder.
static int measure(const struct arguments *arguments, int argc, char **argv,
                   struct tune_table *table)
{
    char result[64];
    char option[] = "--result";
    int exit_status = 0;
    int fd = memfd_create("tern-tune", 0);
    char **words = calloc((size_t)argc + 3, sizeof *words);
    if (fd < 0 || words == NULL || write(fd, TERN_TUNE_HEAD "\n", strlen(TERN_TUNE_HEAD) + 1) < 0) {
        perror("tern tune: no memory for the results");
        exit_status = 1;
    }
    snprintf(result, sizeof result, "/proc/%d/fd/%d", (int)getpid(), fd);
    if (exit_status == 0) {
        words[0] = argv[0];
        words[1] = option;
        words[2] = result;
        memcpy(&words[3], &argv[1], (size_t)(argc - 1) * sizeof *argv);
    }
    int out = dup(STDOUT_FILENO);
    if (arguments->hosts.list != NULL) { // what ranks print goes there
        fflush(stdout);
        dup2(fd, STDOUT_FILENO);
    }
    for (int i = 0; exit_status == 0 && i < arguments->wish.nranks_count; i++) {
        exit_status =
            cli_start_ranks_on(&arguments->hosts, arguments->wish.nranks[i], argc + 2, words);
    }
    dup2(out, STDOUT_FILENO);
    close(out);
    if (exit_status == 0 && tune_table_load(result, table) != TERN_OK) {
        fprintf(stderr, "tern tune: %s\n", tern_last_error());
        exit_status = 1;
    }
    free(words);
    if (fd >= 0) {
        close(fd);
    }
    return exit_status;
}

// Makes the folders that lead to the usual place.
static void make_folders(const char *path)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(folder, 0777); // if it fails, so does opening the file, with the reason
        *slash = '/';
    }
}

// A place that cannot be written is found before anything is measured. Returns 0 to go on.
static int prepare_output(const struct arguments *arguments)
{
    if (strcmp(arguments->output, "-") == 0) {
        return 0;
    }
    if (arguments->usual) {
        make_folders(arguments->output);
    }
    if (tern_file_probe(arguments->output) != TERN_OK) {
        fprintf(stderr, "tern tune: %s\n", tern_last_error());
        return 1;
    }
    struct tune_table there = {0}; // no tune file: said before anything is measured, too
    int status = tune_table_keep(arguments->output, &there);
    tune_table_free(&there);
    return status;
}

// What was left out, when collective calls were measured.
static void say_not_tried(const struct arguments *arguments)
{
    bool calls = false;
    for (int k = 0; k < TERN_PLAN_KINDS; k++) {
        calls = calls || arguments->wish.kinds[k];
    }
    if (calls && !arguments->wish.optimal) {
        fprintf(stderr, "tern tune: optimal was not tried: %s\n",
                arguments->hosts.list != NULL
                    ? "calls between machines cannot search for a plan"
                    : "on one machine all links are alike; --optimal tries it");
    }
}

static int tune(const struct arguments *arguments, int argc, char **argv)
{
    struct tune_table table = {0};
    const char *output = arguments->output;
    // What decides otherwise is out of the way while it is found out.
    setenv("TERN_TUNE", "", 1);
    unsetenv("TERN_ALGO");
    const char *direct = getenv("TERN_DIRECT");
    if (direct != NULL && strcmp(direct, "off") != 0) { // sizes are what is looked for
        unsetenv("TERN_DIRECT");
    }
    int exit_status = prepare_output(arguments);
    exit_status = exit_status == 0 ? measure(arguments, argc, argv, &table) : exit_status;
    exit_status = exit_status == 0 ? tune_table_keep(output, &table) : exit_status;
    if (exit_status == 0) {
        tune_table_sort(&table);
        tune_table_print(stdout, &table);
        say_not_tried(arguments);
        exit_status = strcmp(output, "-") != 0 ? tune_table_save(output, &table) : 0;
    }
    tune_table_free(&table);
    return exit_status;
}

int cli_tune(int argc, char **argv)
{
    struct arguments arguments = {.wish = {.nranks = {2, 4, 8},
                                           .nranks_count = 3,
                                           .seconds = SECONDS_DEFAULT,
                                           .search_s = SEARCH_S_DEFAULT}};
    int exit_status = read_arguments(argc, argv, &arguments);
    if (exit_status < 0 && arguments.is_rank) {
        exit_status = arguments.result != NULL
                          ? be_a_rank(&arguments)
                          : cli_refuse(&command, "--as-rank is not for people");
    }
    if (exit_status < 0 && cli_is_rank()) {
        exit_status = cli_refuse(&command, "it starts its own ranks; run it without 'tern run'");
    }
    if (exit_status < 0 && arguments.output == NULL) {
        arguments.usual = getenv("TERN_TUNE") == NULL;
        arguments.output = arguments.place;
        if (tern_tune_default_path(arguments.place, sizeof arguments.place) != TERN_OK) {
            exit_status =
                cli_refuse(&command, "%s; where to? give --output FILE", tern_last_error());
        }
    }
    return exit_status < 0 ? tune(&arguments, argc, argv) : exit_status;
}
