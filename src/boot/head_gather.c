// SPDX-License-Identifier: Apache-2.0
// When a gathering of the ranks of several machines ends, and how.

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "boot/dial.h"
#include "boot/head.h"
#include "boot/listen.h"

// Ends the gathering for all: the next one has the next number.
static void end_gathering(struct tern__job_head *head)
{
    head->generation++;
    for (int i = 0; i < head->hosts.count; i++) {
        head->entries[i].present = (struct tern__hub_present){0};
        head->entries[i].gather_until_ns = INT64_MAX;
    }
}

void tern__head_give_up(struct tern__job_head *head, int status, const char *text)
{
    struct tern__link_word word = {.kind = TERN__WORD_GIVE_UP,
                                   .value = status,
                                   .number = (uint64_t)head->generation};
    tern__head_say(head, word, text, strlen(text) + 1);
    end_gathering(head);
}

// Where others reach the machine: as it says, as the head sees it, or, when it is the head's own
// machine, as others see that.
static void find_address(const struct tern__job_head *head, int at, struct tern__address *address)
{
    const struct tern__entry *entry = &head->entries[at];
    if (entry->join.address[0] != '\0' && tern__address_read(address, entry->join.address, 0)) {
        return;
    }
    if (tern__dial_address(entry->link.fd, false, 0, address)) {
        return;
    }
    for (int i = 0; i < head->hosts.count; i++) {
        struct tern__address own;
        if (tern__dial_address(head->entries[i].link.fd, true, 0, &own)) {
            *address = own;
            return;
        }
    }
}

static void make_table(const struct tern__job_head *head, struct tern__machines *machines)
{
    *machines = (struct tern__machines){.count = head->hosts.count};
    for (int i = 0; i < head->hosts.count; i++) {
        const struct tern__host *host = &head->hosts.list[i];
        struct tern__machine *machine = &machines->list[i];
        struct tern__address address = {0};
        memcpy(machine->name, host->name, sizeof machine->name);
        machine->ranks = tern__host_mask(host);
        machine->leader = host->first;
        find_address(head, i, &address);
        for (int rank = host->first; rank < host->first + host->count; rank++) {
            machines->of[rank] = (uint8_t)i;
            machines->address[rank] = address;
            tern__address_set_port(&machines->address[rank], head->entries[i].present.ports[rank]);
        }
    }
}

void tern__head_gather(struct tern__job_head *head)
{
    uint64_t present = 0;
    uint64_t all = 0;
    for (int i = 0; i < head->hosts.count; i++) {
        present |= head->entries[i].present.ranks;
        all |= tern__host_mask(&head->hosts.list[i]);
    }
    if (present == 0) {
        return;
    }
    if (head->job.cause != CAUSE_NONE) { // a rank that came late learns why
        char text[TERN__WIRE_SENTENCE_BYTES];
        tern__head_why(head, text, sizeof text);
        tern__head_give_up(head, TERN_ERR_PEER, text);
        return;
    }
    if (present == all) {
        struct tern__machines machines;
        make_table(head, &machines);
        struct tern__link_word word = {.kind = TERN__WORD_GO, .value = head->generation};
        tern__head_say(head, word, &machines, sizeof machines);
        end_gathering(head);
        return;
    }
    uint64_t never = head->gone & ~present;
    if (never != 0) {
        char text[160];
        int rank = __builtin_ctzll(never);
        tern__hub_describe_end(rank, head->job.procs.status[rank], text, sizeof text);
        tern__head_give_up(head, TERN_ERR_PEER, text);
    }
}

// "rank 3 (on b), rank 4 (on c)"
static void list_missing(const struct tern__job_head *head, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < head->hosts.count; i++) {
        const struct tern__host *host = &head->hosts.list[i];
        uint64_t missing = tern__host_mask(host) & ~head->entries[i].present.ranks;
        bool whole = missing == tern__host_mask(host);
        for (uint64_t left = missing; left != 0 && used + 100 < size; left &= left - 1) {
            int written;
            const char *comma = used > 0 ? ", " : "";
            if (whole) {
                written = snprintf(text + used, size - used, "%s%s (on %s%s)", comma,
                                   tern__host_ranks(host).text, host->name,
                                   head->entries[i].joined ? "" : ", which has not connected");
                left = 1;
            } else {
                written = snprintf(text + used, size - used, "%srank %d (on %s)", comma,
                                   __builtin_ctzll(left), host->name);
            }
            used += (size_t)written;
        }
    }
}

int64_t tern__head_gather_expire(struct tern__job_head *head)
{
    const struct tern__entry *first = &head->entries[0];
    const char *refusal = "";
    for (int i = 0; i < head->hosts.count; i++) {
        const struct tern__entry *entry = &head->entries[i];
        first = entry->gather_until_ns < first->gather_until_ns ? entry : first;
        refusal = entry->present.refusal[0] != '\0' ? entry->present.refusal : refusal;
    }
    if (first->gather_until_ns > tern__now_ns()) {
        return first->gather_until_ns;
    }
    char missing[280];
    char text[TERN__WIRE_SENTENCE_BYTES];
    list_missing(head, missing, sizeof missing);
    snprintf(text, sizeof text, "%s did not come within %.3g s%s%.130s%s", missing,
             (double)first->present.timeout_ns * 1e-9, refusal[0] != '\0' ? " (refused: " : "",
             refusal, refusal[0] != '\0' ? ")" : "");
    tern__head_give_up(head, TERN_ERR_TIMEOUT, text);
    return INT64_MAX;
}
