// SPDX-License-Identifier: Apache-2.0
// `tern perf`: measures the collective calls. The command starts itself once per rank; under `tern
// run` it is a rank of that job.

#include "perf/perf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "perf/call.h"
#include "perf/peers.h"
#include "perf/record.h"
#include "perf/sweep.h"
#include "ranks.h"
#include "suggest.h"
#include "tern/comm.h"
#include "tern/file.h"
#include "tern/status.h"

// A rank waits for the checks of others and for the MPIs, unless TERN_TIMEOUT says otherwise.
#define PATIENCE_NS INT64_C(600000000000)

// What only the job knows. 0 or the exit status.
static int judge_job(const struct perf_options *options, tern_comm *comm)
{
    int nranks = tern_comm_size(comm);
    bool speaks = tern_comm_rank(comm) == 0;
    if (options->nranks != 0 && options->nranks != nranks) {
        if (speaks) {
            perf_say("-p %d, but 'tern run' has started %d ranks; leave -p away", options->nranks,
                     nranks);
        }
        return CLI_EXIT_USAGE;
    }
    if (options->root >= nranks) {
        if (speaks) {
            perf_say("--root %d: the ranks are 0 to %d", options->root, nranks - 1);
        }
        return CLI_EXIT_USAGE;
    }
    return 0;
}

// A plot that cannot be written is found before anything is measured. Returns -1 to go on.
static int check_plot(const struct perf_options *options)
{
    if (options->plot == NULL || !cli_speaks()) {
        return -1;
    }
    if (tern_file_probe(options->plot) != TERN_OK) {
        perf_say("--plot: %s", tern_last_error());
        return CLI_EXIT_USAGE;
    }
    return -1;
}

// An algorithm that the kind does not have is found before any rank is started. Returns -1 to go
// on.
static int check_algorithms(const struct perf_options *options)
{
    if (cli_is_rank() || options->kind == PERF_KINDS ||
        perf_call_judge(options, options->kind, options->nranks) == TERN_OK) {
        return -1;
    }
    const char *meant = "";
    for (int i = 0; i < options->nalgos && options->algos[i] != NULL && meant[0] == '\0'; i++) {
        meant = cli_suggest_algorithm(options->algos[i]);
    }
    perf_say("%s%s", tern_last_error(), meant);
    return CLI_EXIT_USAGE;
}

static int be_a_rank(const struct perf_options *options)
{
    tern_comm *comm;
    tern_options patience = {.timeout_ns = getenv("TERN_TIMEOUT") == NULL ? PATIENCE_NS : 0};
    cli_bind_rank();
    if (tern_init(&patience, &comm) != TERN_OK) {
        perf_say("%s", tern_last_error());
        return 1;
    }
    int status = judge_job(options, comm);
    status = status == 0 ? perf_sweep(comm, options) : status;
    tern_comm_destroy(comm);
    return status;
}

// The ranks remove what the MPIs had in files, unless they are killed.
static int start_ranks(struct perf_options *options, int argc, char *const *argv)
{
    bool peers = options->peers[0] || options->peers[1];
    if (peers) {
        perf_folders_name();
    }
    int status = perf_record_prepare(options);
    status = status == 0 ? cli_start_ranks(options->nranks, argc, argv) : status;
    perf_record_clean(options);
    if (peers) {
        perf_folders_remove();
    }
    return status;
}

// What the ranks print would go nowhere: for them a launcher replaces what is closed.
static int check_output(void)
{
    if (fcntl(STDOUT_FILENO, F_GETFD) >= 0) {
        return -1;
    }
    perf_say("standard output cannot be written: it is closed");
    return CLI_EXIT_LOST;
}

int cli_perf(int argc, char **argv)
{
    static struct perf_options options;
    int status = perf_read_options(argc, argv, &options);
    status = status < 0 ? check_output() : status;
    status = status < 0 ? check_plot(&options) : status;
    status = status < 0 ? check_algorithms(&options) : status;
    if (status < 0) {
        status = cli_is_rank() ? be_a_rank(&options) : start_ranks(&options, argc, argv);
    }
    return status;
}
