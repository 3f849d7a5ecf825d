// SPDX-License-Identifier: Apache-2.0
// A rank for test/system/global_domains.sh that shares no job with the others: RANK NRANKS ROUNDS.
// It lays its descriptor into the folder that it stands in, as a file, and waits for those of the
// others there, which is the program's own way to carry them. Then rounds in which all store in the
// windows of all and wait for all; 0 rounds: until something fails. Says `ready` when the first is
// over. With a fourth argument it only prepares, says so, and waits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "comm.h"
#include "comm_context.h"
#include "tern/put.h"
#include "tern/signal.h"
#include "tern/status.h"
#include "tern/window.h"

enum { BYTES = 8192, RANKS = 16 };

static int failed(const char *call)
{
    printf("failed %s: %s\n", call, tern_last_error());
    return 9;
}

static void lay(int rank, const CommGlobalDomainDescriptor *mine)
{
    char part[32];
    char whole[32];
    snprintf(part, sizeof part, "part.%d", rank);
    snprintf(whole, sizeof whole, "descriptor.%d", rank);
    FILE *file = fopen(part, "w");
    if (file == NULL || fwrite(mine, sizeof *mine, 1, file) != 1 || fclose(file) != 0 ||
        rename(part, whole) != 0) {
        perror(whole);
        exit(8);
    }
}

static void fetch(int rank, CommGlobalDomainDescriptor *descriptor)
{
    char name[32];
    FILE *file;
    snprintf(name, sizeof name, "descriptor.%d", rank);
    while ((file = fopen(name, "r")) == NULL) {
        usleep(5000);
    }
    if (fread(descriptor, sizeof *descriptor, 1, file) != 1) {
        perror(name);
        exit(8);
    }
    fclose(file);
}

static int exchange(const CommContext *context, int32_t round)
{
    int32_t n = (int32_t)context->rankNum;
    int32_t *own = (int32_t *)(uintptr_t)context->windowsIn[context->rankId];
    tern_window *window = NULL;
    size_t offset;
    int member;
    for (uint32_t peer = 0; peer < context->rankNum; peer++) {
        const void *there = tern_context_remote(context, own + context->rankId, peer);
        if (tern_window_find(there, &window, &member, &offset) != TERN_OK ||
            tern_put(window, member, offset, &round, sizeof round) != TERN_OK ||
            tern_signal_notify(window, member, 4096 + 64 * (size_t)context->rankId, 1,
                               TERN_NOTIFY_ADD) != TERN_OK) {
            return -1;
        }
    }
    for (int32_t peer = 0; peer < n; peer++) {
        if (tern_signal_wait(window, 4096 + 64 * (size_t)peer, TERN_CMP_GE, round,
                             TERN_TIMEOUT_DEFAULT) != TERN_OK) {
            return -1;
        }
        if (own[peer] < round) {
            printf("rank %d has not stored round %d\n", peer, round);
            return -1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    CommGlobalDomainDescriptor all[RANKS];
    uint64_t base;
    uint64_t ctx;
    int rank = argc > 3 ? atoi(argv[1]) : -1;
    int n = argc > 3 ? atoi(argv[2]) : 0;
    if (rank < 0 || n > RANKS || rank >= n) {
        return 7;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (comm_global_domain_prepare(7, (uint32_t)rank, (uint32_t)n, BYTES,
                                   COMM_GLOBAL_DOMAIN_SIM_SHM, &all[rank], &base) != 0) {
        return failed("prepare");
    }
    lay(rank, &all[rank]);
    for (int peer = 0; peer < n; peer++) {
        fetch(peer, &all[peer]);
    }
    if (argc > 4) {
        printf("prepared %d\n", rank);
        pause();
    }
    if (comm_global_domain_import(7, all, (size_t)n, &ctx) != 0) {
        return failed("import");
    }
    const CommContext *context = (const CommContext *)(uintptr_t)ctx;
    for (int32_t round = 1; round <= atoi(argv[3]) || atoi(argv[3]) == 0; round++) {
        if (exchange(context, round) != 0) {
            return failed("exchange");
        }
        if (round == 1) {
            printf("ready %d of %d\n", rank, n);
        }
    }
    return comm_global_domain_release(7) == 0 ? 0 : failed("release");
}
