// SPDX-License-Identifier: Apache-2.0
// Counting bytes and time per link and resource. Set-up path; counting an op allocates nothing.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/tally.h"

// What a message to another machine costs: a system call or two, and somebody who wakes up.
#define MESSAGE_US 4

#define ROUNDS_ROOM (TERN_PLAN_ROUNDS_MAX + 1)

int tern__tally_create(int nranks, const tern_topo *topo, struct tern__tally *tally)
{
    size_t links = (size_t)nranks * (size_t)nranks;
    *tally = (struct tern__tally){
        .nranks = nranks,
        .us_per_byte = calloc(links, sizeof(double)),
        .latency_us = calloc(links, sizeof(double)),
        .bytes = calloc(links, sizeof(uint64_t)),
        .round_work_us = calloc(ROUNDS_ROOM, sizeof(double)),
        .round_latency_us = calloc(ROUNDS_ROOM, sizeof(double)),
        .topo = topo,
        .machines = tern_topo_machine_count(topo),
        .resources = tern_topo_resource_count(topo),
        .rank = -1,
    };
    size_t resources = (size_t)tally->resources;
    tally->resource_GBps = calloc(resources + 1, sizeof(double));
    tally->resource_bytes = calloc(resources + 1, sizeof(uint64_t));
    tally->round_bytes = calloc(resources * TERN__TALLY_ROUNDS + 1, sizeof(uint64_t));
    if (tally->resource_GBps == NULL || tally->resource_bytes == NULL ||
        tally->round_bytes == NULL || tally->us_per_byte == NULL || tally->latency_us == NULL ||
        tally->bytes == NULL || tally->round_work_us == NULL || tally->round_latency_us == NULL) {
        tern__tally_destroy(tally);
        return tern__fail(TERN_ERR_MEMORY, "no memory to count the bytes on the links of %d ranks",
                          nranks);
    }
    for (size_t i = 0; i < links; i++) {
        int from = (int)(i / (size_t)nranks);
        int to = (int)(i % (size_t)nranks);
        tern_link link = {.bandwidth_GBps = 1};
        bool there = from == to || topo == NULL || tern_topo_link(topo, from, to, &link);
        tally->latency_us[i] = !there ? -1 : from == to ? 0 : link.latency_us;
        tally->us_per_byte[i] = there && from != to ? 1e-3 / link.bandwidth_GBps : 0;
    }
    for (int i = 0; i < tally->resources; i++) {
        tern_topo_resource resource = {.GBps = 1};
        tern_topo_get_resource(topo, i, &resource);
        tally->resource_GBps[i] = resource.GBps;
    }
    return TERN_OK;
}

void tern__tally_destroy(struct tern__tally *tally)
{
    free(tally->us_per_byte);
    free(tally->latency_us);
    free(tally->bytes);
    free(tally->resource_GBps);
    free(tally->resource_bytes);
    free(tally->round_bytes);
    free(tally->round_work_us);
    free(tally->round_latency_us);
    *tally = (struct tern__tally){0};
}

void tern__tally_clear(struct tern__tally *tally)
{
    size_t links = (size_t)tally->nranks * (size_t)tally->nranks;
    memset(tally->bytes, 0, links * sizeof *tally->bytes);
    size_t resources = (size_t)tally->resources;
    memset(tally->resource_bytes, 0, resources * sizeof *tally->resource_bytes);
    memset(tally->round_bytes, 0, resources * TERN__TALLY_ROUNDS * sizeof *tally->round_bytes);
    tally->pieces = 0;
    tally->messages = 0;
    memset(tally->round_work_us, 0, ROUNDS_ROOM * sizeof(double));
    memset(tally->round_latency_us, 0, ROUNDS_ROOM * sizeof(double));
    tally->rounds = 0;
    tally->copies = tally->reduces = tally->posts = tally->waits = tally->missing = 0;
    tally->rank = -1;
    tally->work_us = 0;
}

static bool is_away(const struct tern__tally *tally, int rank, int other)
{
    return tern_topo_machine_of(tally->topo, rank) != tern_topo_machine_of(tally->topo, other);
}

static void cross_resources(struct tern__tally *tally, int from, int to, uint64_t bytes)
{
    int uses[TERN_TOPO_USES_MAX];
    int count = tern_topo_uses(tally->topo, from, to, uses);
    int round = tally->round < TERN__TALLY_ROUNDS ? tally->round : TERN__TALLY_ROUNDS - 1;
    uint64_t *in_round = &tally->round_bytes[(size_t)tally->resources * (size_t)round];
    for (int i = 0; i < count; i++) {
        tally->resource_bytes[uses[i]] += bytes;
        in_round[uses[i]] += bytes;
    }
}

// Bytes between two machines; false when both ranks are on one.
static bool cross_machines(struct tern__tally *tally, int from, int to, uint64_t bytes)
{
    if (!is_away(tally, from, to)) {
        return false;
    }
    tally->first_put = tally->puts == 0 ? to : tally->first_put;
    tally->puts += bytes > 0 && to == tally->first_put;
    tally->pieces = tally->puts > tally->pieces ? tally->puts : tally->pieces;
    return true;
}

// Bytes over a link; raises the start-up to that of the link, and returns the time they take.
static double cross(struct tern__tally *tally, int from, int to, uint64_t bytes, double *latency_us)
{
    size_t link = (size_t)from * (size_t)tally->nranks + (size_t)to;
    if (tally->latency_us[link] < 0) {
        tally->missing++;
        return 0;
    }
    tally->bytes[link] += bytes;
    if (tally->latency_us[link] > *latency_us) {
        *latency_us = tally->latency_us[link];
    }
    if (tally->resources > 0) {
        cross_resources(tally, from, to, bytes);
    }
    return tally->machines > 0 && cross_machines(tally, from, to, bytes)
               ? 0
               : (double)bytes * tally->us_per_byte[link];
}

static void flush_work(struct tern__tally *tally)
{
    if (tally->rank >= 0 && tally->work_us > tally->round_work_us[tally->round]) {
        tally->round_work_us[tally->round] = tally->work_us;
    }
    tally->work_us = 0;
}

static void count_transfer(struct tern__tally *tally, int rank, const tern_plan_op *op,
                           double *latency_us)
{
    double read_us = 0;
    double write_us = 0;
    double read_latency_us = 0;
    double write_latency_us = 0;
    for (int i = 0; i < op->sources_count && op->length > 0; i++) {
        int from = op->sources[i].rank;
        double us = from == rank ? 0 : cross(tally, from, rank, op->length, &read_latency_us);
        read_us = us > read_us ? us : read_us;
    }
    for (int i = 0; i < op->destinations_count && op->length > 0; i++) {
        int to = op->destinations[i].rank;
        double us = to == rank ? 0 : cross(tally, rank, to, op->length, &write_latency_us);
        write_us = us > write_us ? us : write_us;
    }
    // What one op reads and writes flows at the same time, but one start-up follows the other.
    tally->work_us += read_us > write_us ? read_us : write_us;
    *latency_us = read_latency_us + write_latency_us;
}

void tern__tally_op(struct tern__tally *tally, int rank, int lane, const tern_plan_op *op)
{
    if (rank != tally->rank || lane != tally->lane || op->round != tally->round) {
        flush_work(tally);
        tally->puts = 0;
        tally->rank = rank;
        tally->lane = lane;
        tally->round = op->round;
    }
    tally->rounds = op->round >= tally->rounds ? op->round + 1 : tally->rounds;
    double latency_us = 0;
    switch (op->kind) {
    case TERN_PLAN_COPY:
        tally->copies++;
        count_transfer(tally, rank, op, &latency_us);
        break;
    case TERN_PLAN_REDUCE:
        tally->reduces++;
        count_transfer(tally, rank, op, &latency_us);
        break;
    case TERN_PLAN_POST:
        tally->posts++;
        if (op->peer != rank) {
            cross(tally, rank, op->peer, 0, &latency_us);
            tally->messages += tally->machines > 0 && is_away(tally, rank, op->peer);
        }
        break;
    case TERN_PLAN_WAIT:
        tally->waits++;
        break;
    }
    if (latency_us > tally->round_latency_us[op->round]) {
        tally->round_latency_us[op->round] = latency_us;
    }
}

void tern__tally_busiest(const struct tern__tally *tally, int *from, int *to)
{
    size_t links = (size_t)tally->nranks * (size_t)tally->nranks;
    size_t busiest = 0;
    double longest_us = 0;
    for (size_t i = 0; i < links; i++) {
        double us = (double)tally->bytes[i] * tally->us_per_byte[i];
        if (us > longest_us) {
            longest_us = us;
            busiest = i;
        }
    }
    *from = (int)(busiest / (size_t)tally->nranks);
    *to = (int)(busiest % (size_t)tally->nranks);
}

static double resource_us(const struct tern__tally *tally, const uint64_t *bytes, int index)
{
    return (double)bytes[index] * 1e-3 / tally->resource_GBps[index];
}

static int busiest_of(const struct tern__tally *tally, const uint64_t *bytes, int count)
{
    int busiest = 0;
    for (int i = 1; i < count; i++) {
        bool longer = resource_us(tally, bytes, i) > resource_us(tally, bytes, busiest);
        busiest = longer ? i : busiest;
    }
    return busiest;
}

double tern__tally_resource_us(const struct tern__tally *tally, int index)
{
    return resource_us(tally, tally->resource_bytes, index);
}

int tern__tally_busiest_resource(const struct tern__tally *tally, int count)
{
    return busiest_of(tally, tally->resource_bytes, count);
}

// What the resources take: the busiest one, and of the rounds one after the other what goes beyond
// it, for one piece.
static double resources_us(const struct tern__tally *tally)
{
    double rounds_us = 0;
    int busiest = tern__tally_busiest_resource(tally, tally->resources);
    double all_us = tern__tally_resource_us(tally, busiest);
    for (int round = 0; round < TERN__TALLY_ROUNDS; round++) {
        const uint64_t *bytes = &tally->round_bytes[(size_t)tally->resources * (size_t)round];
        rounds_us += resource_us(tally, bytes, busiest_of(tally, bytes, tally->resources));
    }
    return all_us + (rounds_us - all_us) / (tally->pieces > 1 ? tally->pieces : 1);
}

double tern__tally_time_us(struct tern__tally *tally)
{
    flush_work(tally);
    tally->rank = -1;
    int from;
    int to;
    tern__tally_busiest(tally, &from, &to);
    size_t busiest = (size_t)from * (size_t)tally->nranks + (size_t)to;
    double link_us = (double)tally->bytes[busiest] * tally->us_per_byte[busiest];
    double messages_us = 0;
    if (tally->resources > 0) {
        double us = resources_us(tally);
        link_us = us > link_us ? us : link_us;
    }
    if (tally->machines > 0) {
        messages_us = MESSAGE_US * (double)tally->messages / tally->machines;
    }
    double work_us = 0;
    double start_us = 0;
    for (int round = 0; round < tally->rounds; round++) {
        work_us += tally->round_work_us[round];
        start_us += tally->round_latency_us[round];
    }
    return start_us + messages_us + (link_us > work_us ? link_us : work_us);
}
