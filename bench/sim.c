// SPDX-License-Identifier: Apache-2.0
// How fast the simulator is, on one core: programs of many ranks, without critical paths. For each
// the events, the seconds and the events a second, medians of the runs given as the second argument
// (default 3), and the peak of this process's memory at the end. The first argument is the number
// of hosts of 8 ranks (default 2048: 16384 ranks). "name value unit" lines.

#include <string.h>

#include "report.h"
#include "tern/sim.h"

#define RUNS_MAX 15

static void must(int status)
{
    if (status < 0) {
        fprintf(stderr, "bench_sim: %s\n", tern_last_error());
        exit(1);
    }
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a;
    double second = *(const double *)b;
    return (first > second) - (first < second);
}

static void measure(const tern_topo *topo, const char *algorithm, uint64_t bytes, double jitter,
                    const char *name, int runs)
{
    tern_program_request request = {.kind = TERN_PLAN_ALL_REDUCE,
                                    .nranks = tern_topo_size(topo),
                                    .bytes = bytes,
                                    .unit = 4,
                                    .algorithm = algorithm,
                                    .group = strncmp(algorithm, "hierarchical", 12) == 0 ? 8 : 0};
    tern_sim_options options = {.jitter = jitter, .without_path = true};
    tern_program *program = NULL;
    double seconds[RUNS_MAX];
    double events = 0;
    char line[96];
    must(tern_program_create(&request, &program));
    for (int run = 0; run < runs; run++) {
        tern_sim *sim = NULL;
        must(tern_sim_run_program(program, topo, &options, &sim));
        seconds[run] = tern_sim_get_facts(sim)->wall_s;
        events = (double)tern_sim_get_facts(sim)->events;
        tern_sim_destroy(sim);
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, compare);
    snprintf(line, sizeof line, "%s_events", name);
    report(line, events, "");
    snprintf(line, sizeof line, "%s_time", name);
    report(line, seconds[runs / 2], "s");
    snprintf(line, sizeof line, "%s_rate", name);
    report(line, events / seconds[runs / 2] * 1e-6, "M/s");
    tern_program_destroy(program);
}

int main(int argc, char **argv)
{
    int hosts = argc > 1 ? atoi(argv[1]) : 2048;
    int runs = argc > 2 ? atoi(argv[2]) : 3;
    char word[48];
    tern_topo *topo = NULL;
    struct rusage used;
    runs = runs < 1 ? 1 : runs > RUNS_MAX ? RUNS_MAX : runs;
    snprintf(word, sizeof word, "hosts:%dx8@25", hosts);
    must(tern_topo_create(word, &topo));
    measure(topo, "hierarchical", UINT64_C(1) << 26, 0, "halving_doubling", runs);
    measure(topo, "hierarchical", UINT64_C(1) << 26, 0.1, "halving_doubling_jitter", runs);
    measure(topo, "tree", 4, 0, "tree", runs);
    measure(topo, "hierarchical_ring", UINT64_C(1) << 30, 0, "ring", runs);
    getrusage(RUSAGE_SELF, &used);
    report("memory", (double)used.ru_maxrss / 1024, "MiB");
    tern_topo_destroy(topo);
    return 0;
}
