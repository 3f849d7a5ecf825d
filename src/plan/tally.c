// SPDX-License-Identifier: Apache-2.0
// Counting bytes and time per link. Set-up path; counting an op allocates nothing.

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
        .rank = -1,
    };
    tally->port_bytes = calloc(2 * (size_t)tally->machines + 1, sizeof(uint64_t));
    tally->round_ports =
        calloc(2 * (size_t)tally->machines * TERN__TALLY_ROUNDS + 1, sizeof(uint64_t));
    if (tally->port_bytes == NULL || tally->round_ports == NULL || tally->us_per_byte == NULL ||
        tally->latency_us == NULL || tally->bytes == NULL || tally->round_work_us == NULL ||
        tally->round_latency_us == NULL) {
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
    return TERN_OK;
}

void tern__tally_destroy(struct tern__tally *tally)
{
    free(tally->us_per_byte);
    free(tally->latency_us);
    free(tally->bytes);
    free(tally->port_bytes);
    free(tally->round_ports);
    free(tally->round_work_us);
    free(tally->round_latency_us);
    *tally = (struct tern__tally){0};
}

void tern__tally_clear(struct tern__tally *tally)
{
    size_t links = (size_t)tally->nranks * (size_t)tally->nranks;
    memset(tally->bytes, 0, links * sizeof *tally->bytes);
    memset(tally->port_bytes, 0, 2 * (size_t)tally->machines * sizeof *tally->port_bytes);
    memset(tally->round_ports, 0,
           2 * (size_t)tally->machines * TERN__TALLY_ROUNDS * sizeof *tally->round_ports);
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

// Bytes between two machines; false when both ranks are on one.
static bool cross_ports(struct tern__tally *tally, int from, int to, uint64_t bytes)
{
    int out = 2 * tern_topo_machine_of(tally->topo, from);
    int in = 2 * tern_topo_machine_of(tally->topo, to) + 1;
    int round = tally->round < TERN__TALLY_ROUNDS ? tally->round : TERN__TALLY_ROUNDS - 1;
    uint64_t *ports = &tally->round_ports[2 * (size_t)tally->machines * (size_t)round];
    if (out + 1 == in) {
        return false;
    }
    tally->port_bytes[out] += bytes;
    tally->port_bytes[in] += bytes;
    ports[out] += bytes;
    ports[in] += bytes;
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
    return tally->machines > 0 && cross_ports(tally, from, to, bytes)
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

static double port_us(const struct tern__tally *tally, const uint64_t *ports, int machine)
{
    tern_topo_machine facts = {.port_GBps = 1};
    tern_topo_get_machine(tally->topo, machine, &facts);
    uint64_t out = ports[2 * machine];
    uint64_t in = ports[2 * machine + 1];
    return (double)(out > in ? out : in) * 1e-3 / facts.port_GBps;
}

double tern__tally_port_us(const struct tern__tally *tally, int machine)
{
    return port_us(tally, tally->port_bytes, machine);
}

// What the ports take: the busiest one, and of the rounds one after the other what goes beyond it,
// for one piece.
static double ports_us(const struct tern__tally *tally)
{
    double rounds_us = 0;
    double all_us = tern__tally_port_us(tally, tern__tally_busiest_port(tally));
    for (int round = 0; round < TERN__TALLY_ROUNDS; round++) {
        const uint64_t *ports = &tally->round_ports[2 * (size_t)tally->machines * (size_t)round];
        double longest_us = 0;
        for (int m = 0; m < tally->machines; m++) {
            double us = port_us(tally, ports, m);
            longest_us = us > longest_us ? us : longest_us;
        }
        rounds_us += longest_us;
    }
    return all_us + (rounds_us - all_us) / (tally->pieces > 1 ? tally->pieces : 1);
}

int tern__tally_busiest_port(const struct tern__tally *tally)
{
    int busiest = 0;
    for (int m = 1; m < tally->machines; m++) {
        bool longer = tern__tally_port_us(tally, m) > tern__tally_port_us(tally, busiest);
        busiest = longer ? m : busiest;
    }
    return busiest;
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
    if (tally->machines > 0) {
        double us = ports_us(tally);
        link_us = us > link_us ? us : link_us;
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
