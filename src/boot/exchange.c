// SPDX-License-Identifier: Apache-2.0
// What each rank says of itself in an exchange, and the machines that follow from it.

#include "boot/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/process.h"
#include "boot/env.h"
#include "boot/join.h"
#include "boot/listen.h"

struct card {
    uint32_t abi;
    uint32_t reserved;
    uint64_t machine; // a digest of what ranks of one machine have alike
    uint8_t token[16];
    char name[TERN__MACHINE_NAME_BYTES];
    struct tern__address address;
    uint32_t pid;
    uint64_t pid_space; // in which that is the number of the process; 0: not known
};

int tern__exchange_find(struct tern__exchange *exchange)
{
    static _Atomic uint32_t made;
    int found = tern__exchange_folder(exchange);
    found = found == 0 ? tern__exchange_pmix(exchange) : found;
    found = found == 0 ? tern__exchange_pmi(exchange) : found;
    if (found == 1) {
        exchange->number = tern__flag_add(&made, 1);
    }
    return found;
}

int tern__machine_digest(uint64_t *digest)
{
    char boot[TERN__BOOT_ID_BYTES];
    TERN_TRY(tern__boot_id(boot));
    struct stat net = {0};
    (void)stat("/proc/self/ns/net", &net);
    const char *word = getenv("TERN_MACHINE");
    uint64_t hash = tern__digest_add(TERN__DIGEST_EMPTY, boot, strlen(boot));
    hash = tern__digest_add(hash, &net.st_ino, sizeof net.st_ino);
    *digest = word != NULL ? tern__digest_add(hash, word, strlen(word)) : hash;
    return TERN_OK;
}

void tern__machine_name(char name[TERN__MACHINE_NAME_BYTES])
{
    const char *word = getenv("TERN_MACHINE");
    memset(name, 0, TERN__MACHINE_NAME_BYTES);
    if (word != NULL) {
        snprintf(name, TERN__MACHINE_NAME_BYTES, "%s", word);
    } else if (gethostname(name, TERN__MACHINE_NAME_BYTES - 1) != 0) {
        snprintf(name, TERN__MACHINE_NAME_BYTES, "unnamed");
    }
}

static int fill_card(struct card *card, uint32_t port)
{
    card->abi = TERN__CTL_ABI;
    TERN_TRY(tern__machine_digest(&card->machine));
    tern__machine_name(card->name);
    card->pid = (uint32_t)getpid();
    card->pid_space = tern__pid_space();
    TERN_TRY(tern__token_random(card->token));
    return tern__listen_address(port, &card->address);
}

void tern__machines_place(const struct tern__seat *seats, int rank, int nranks,
                          struct tern__machines *machines)
{
    for (int r = 0; r < nranks; r++) {
        int at = 0;
        while (at < machines->count &&
               seats[machines->list[at].leader].machine != seats[r].machine) {
            at++;
        }
        struct tern__machine *machine = &machines->list[at];
        if (at == machines->count) {
            machines->count++;
            machine->leader = r;
            snprintf(machine->name, sizeof machine->name, "%.*s", TERN__MACHINE_NAME_BYTES - 1,
                     seats[r].name);
        }
        machine->ranks |= UINT64_C(1) << r;
        machines->of[r] = (uint8_t)at;
        machines->address[r] = *seats[r].address;
    }
    machines->mine = machines->of[rank];
}

static int find_machines(const struct card *cards, int rank, int nranks,
                         struct tern__machines *machines)
{
    struct tern__seat seats[TERN_RANKS_MAX];
    for (int r = 0; r < nranks; r++) {
        if (cards[r].abi != TERN__CTL_ABI) {
            return tern__fail(TERN_ERR_REFUSED, "rank %d runs another version of tern than rank %d",
                              r, rank);
        }
        seats[r] = (struct tern__seat){cards[r].machine, cards[r].name, &cards[r].address};
    }
    tern__machines_place(seats, rank, nranks, machines);
    return TERN_OK;
}

// Of the ranks of this machine: pidfds, for as long as they meet.
static void watch_others(const struct card *cards, const struct tern__machines *machines,
                         const struct tern__place *place, int processes[TERN_RANKS_MAX])
{
    uint64_t space = tern__pid_space();
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        processes[rank] = -1;
    }
    for (int rank = 0; rank < place->nranks; rank++) {
        if (rank == place->rank || machines->of[rank] != machines->mine || space == 0 ||
            cards[rank].pid_space != space) {
            continue;
        }
        processes[rank] = (int)syscall(SYS_pidfd_open, (pid_t)cards[rank].pid, 0);
        if (processes[rank] < 0 && errno == ESRCH) {
            processes[rank] = TERN__JOIN_GONE;
        }
    }
}

static int meet_here(struct tern__place *place, const char *path,
                     const struct tern__machines *machines, const struct card *cards,
                     struct tern__job **job)
{
    int processes[TERN_RANKS_MAX];
    watch_others(cards, machines, place, processes);
    int status = tern__join_machine(place, path, machines, processes, job);
    for (int rank = 0; rank < TERN_RANKS_MAX; rank++) {
        if (processes[rank] >= 0) {
            close(processes[rank]);
        }
    }
    return status;
}

static int join(struct tern__exchange *exchange, struct tern__place *place,
                struct tern__machines *machines, struct card *cards, struct tern__job **job)
{
    int64_t deadline_ns = tern__deadline_after(place->timeout_ns);
    struct card mine = {0};
    TERN_TRY(fill_card(&mine, place->port));
    TERN_TRY(exchange->gather(exchange, &mine, sizeof mine, cards, deadline_ns));
    TERN_TRY(find_machines(cards, place->rank, place->nranks, machines));
    // Of rank 0's token: it is the job's. The meeting is at a path that follows from it.
    char token[33];
    char path[512];
    const char *folder = getenv("TMPDIR");
    tern__token_write(cards[0].token, token);
    snprintf(path, sizeof path, "%.400s/tern-%s-%d", folder != NULL ? folder : "/tmp", token,
             machines->mine);
    memcpy(place->token, cards[0].token, sizeof place->token);
    TERN_TRY(meet_here(place, path, machines, cards, job));
    memcpy((*job)->token, cards[0].token, sizeof(*job)->token);
    return TERN_OK;
}

int tern__join_exchanged(struct tern__exchange *exchange, int64_t timeout_ns,
                         struct tern__job **job)
{
    struct tern__place place = {.rank = exchange->rank,
                                .nranks = exchange->nranks,
                                .timeout_ns = timeout_ns};
    struct tern__machines *machines = calloc(1, sizeof *machines);
    struct card *cards = calloc((size_t)exchange->nranks, sizeof *cards);
    int status =
        machines == NULL || cards == NULL
            ? tern__fail(TERN_ERR_MEMORY, "no memory for the start of %d ranks", exchange->nranks)
            : tern__listen(&place.listener, &place.port);
    if (status == TERN_OK) {
        status = join(exchange, &place, machines, cards, job);
        if (status != TERN_OK) {
            close(place.listener);
        }
    }
    exchange->end(exchange);
    free(machines);
    free(cards);
    return status;
}
