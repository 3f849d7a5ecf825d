// SPDX-License-Identifier: Apache-2.0
// ctest-timeout: 600
// The simulator against SimGrid (Casanova et al. 2014), which shares nothing with it: the same
// plans on the same links must take the same time. One actor for each lane; an op is a transfer for
// each remote operand, a post an actor that sleeps for the latency. SimGrid is set to the model of
// tern/sim.h: full latency and bandwidth, no reverse traffic, no window of TCP, fair weights.
// Skipped where SimGrid is not installed, and under sanitizers, which do not know its stacks.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/random.h"
#include "tern/algo.h"
#include "tern/sim.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(TERN_TEST_SIMGRID)

int main()
{
    puts("skipped: no SimGrid (package libsimgrid-dev), or a sanitizer that does not know its "
         "stacks");
    return 77;
}

#else

#include <simgrid/s4u.hpp>

namespace sg = simgrid::s4u;

#define WORST 1e-3 // of the time

static const char *const topologies[] = {"mesh:4",        "mesh:5 0-1", "mesh:8 0-1",
                                         "mesh:6 2>3",    "ring:6",     "hosts:2x3",
                                         "910b",          "a3-8x2",     "machines:2x2",
                                         "machines:1+2+3"};
enum { TOPOLOGIES = sizeof topologies / sizeof topologies[0], OPS_MOST = 3000 };

static tern_topo *make_topo(const char *text)
{
    std::string word(text);
    size_t space = word.find(' ');
    tern_topo *topo = nullptr;
    bool made = tern_topo_create(word.substr(0, space).c_str(), &topo) == TERN_OK;
    if (made && space != std::string::npos) {
        made = tern_topo_cut(topo, word.substr(space + 1).c_str()) == TERN_OK;
    }
    if (!made) {
        fprintf(stderr, "%s: %s\n", text, tern_last_error());
        exit(1);
    }
    return topo;
}

struct waiter {
    uint32_t count;
    sg::SemaphorePtr semaphore;
};

struct signal_of_a_rank {
    uint32_t posted = 0;
    std::vector<waiter> waiters;
};

struct world {
    const tern_plan *plan;
    const tern_topo *topo;
    std::vector<sg::Host *> hosts;
    std::vector<std::vector<signal_of_a_rank>> signals;
    double end;
    int lanes; // that have not ended
};

static void make_platform(world &w)
{
    int n = tern_topo_size(w.topo);
    sg::NetZone *zone = sg::create_full_zone("zone");
    std::vector<sg::Link *> shared;
    for (int i = 0; i < tern_topo_resource_count(w.topo); i++) {
        tern_topo_resource resource;
        tern_topo_get_resource(w.topo, i, &resource);
        shared.push_back(
            zone->create_link("shared" + std::to_string(i), resource.GBps * 1e9)->seal());
    }
    for (int rank = 0; rank < n; rank++) {
        w.hosts.push_back(zone->create_host("rank" + std::to_string(rank), 1e9)->seal());
        w.signals.emplace_back(tern_plan_signal_count(w.plan, rank));
    }
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            tern_link facts;
            int uses[TERN_TOPO_USES_MAX];
            if (from == to || !tern_topo_link(w.topo, from, to, &facts)) {
                continue;
            }
            std::string name = std::to_string(from) + ">" + std::to_string(to);
            sg::Link *link = zone->create_link(name, facts.bandwidth_GBps * 1e9)
                                 ->set_latency(facts.latency_us * 1e-6)
                                 ->seal();
            std::vector<sg::LinkInRoute> route = {sg::LinkInRoute(link)};
            int count = tern_topo_uses(w.topo, from, to, uses);
            for (int i = 0; i < count; i++) {
                route.emplace_back(shared[static_cast<size_t>(uses[i])]);
            }
            zone->add_route(w.hosts[static_cast<size_t>(from)]->get_netpoint(),
                            w.hosts[static_cast<size_t>(to)]->get_netpoint(), nullptr, nullptr,
                            route, false);
        }
    }
    zone->seal();
}

static void arrive(world &w, int rank, uint32_t signal)
{
    signal_of_a_rank &s = w.signals[static_cast<size_t>(rank)][signal];
    std::vector<sg::SemaphorePtr> over;
    s.posted++;
    for (const waiter &one : s.waiters) {
        if (one.count == s.posted) {
            over.push_back(one.semaphore);
        }
    }
    for (const sg::SemaphorePtr &semaphore : over) {
        semaphore->release(); // other actors run here
    }
}

static void post(world &w, int rank, const tern_plan_op &op)
{
    tern_link link = {0, 0};
    tern_topo_link(w.topo, rank, op.peer, &link);
    int peer = op.peer;
    uint32_t signal = op.signal;
    double seconds = rank == peer ? 0 : link.latency_us * 1e-6;
    if (!(seconds > 0)) {
        arrive(w, peer, signal);
        return;
    }
    sg::Actor::create("post", w.hosts[static_cast<size_t>(rank)], [&w, peer, signal, seconds] {
        sg::this_actor::sleep_for(seconds);
        arrive(w, peer, signal);
    });
}

static void await(world &w, int rank, const tern_plan_op &op)
{
    signal_of_a_rank &s = w.signals[static_cast<size_t>(rank)][op.signal];
    if (s.posted < op.count) {
        waiter one = {op.count, sg::Semaphore::create(0)};
        s.waiters.push_back(one);
        one.semaphore->acquire();
    }
}

static void transfer(world &w, int rank, const tern_plan_op &op)
{
    std::vector<sg::CommPtr> flows;
    auto start = [&](int from, int to) {
        if (from != to) {
            flows.push_back(sg::Comm::sendto_async(w.hosts[static_cast<size_t>(from)],
                                                   w.hosts[static_cast<size_t>(to)], op.length));
        }
    };
    for (int i = 0; op.length > 0 && i < op.sources_count; i++) {
        start(op.sources[i].rank, rank);
    }
    for (int i = 0; op.length > 0 && i < op.destinations_count; i++) {
        start(rank, op.destinations[i].rank);
    }
    for (const sg::CommPtr &flow : flows) {
        flow->wait();
    }
}

static void run_lane(world &w, int rank, int lane)
{
    for (size_t i = 0; i < tern_plan_op_count(w.plan, rank, lane); i++) {
        tern_plan_op op;
        if (tern_plan_get_op(w.plan, rank, lane, i, &op) != TERN_OK) {
            abort();
        }
        if (op.kind == TERN_PLAN_POST) {
            post(w, rank, op);
        } else if (op.kind == TERN_PLAN_WAIT) {
            await(w, rank, op);
        } else {
            transfer(w, rank, op);
        }
    }
    w.end = std::fmax(w.end, sg::Engine::get_clock());
    w.lanes--;
}

// In a process of its own, since there is one engine in each.
static double simgrid_us(const tern_plan *plan, const tern_topo *topo)
{
    int argc = 5;
    char words[5][48] = {"test", "--log=root.thres:critical", "--cfg=network/model:CM02",
                         "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0"};
    char *argv[] = {words[0], words[1], words[2], words[3], words[4], nullptr};
    sg::Engine engine(&argc, argv);
    sg::Engine::set_config("network/weight-S:1e9");
    sg::Engine::set_config("surf/precision:1e-12");
    world w = {plan, topo, {}, {}, 0, 0};
    make_platform(w);
    for (int rank = 0; rank < tern_topo_size(topo); rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            sg::Actor::create("lane", w.hosts[static_cast<size_t>(rank)],
                              [&w, rank, lane] { run_lane(w, rank, lane); });
            w.lanes++;
        }
    }
    engine.run();
    return w.lanes == 0 ? w.end * 1e6 : NAN;
}

static double in_a_child(const std::function<double()> &work)
{
    int ends[2];
    double us = NAN;
    if (pipe(ends) != 0) {
        return us;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        us = work();
        _exit(write(ends[1], &us, sizeof us) == sizeof us ? 0 : 1);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &us, sizeof us) != sizeof us) {
        us = NAN;
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return us;
}

struct score {
    int cases = 0, wrong = 0;
    double worst = 0;
};

static void compare(tern_plan *plan, const char *word, const char *what, score &score)
{
    tern_topo *topo = make_topo(word);
    tern_sim *sim = nullptr;
    if (tern_sim_run(plan, topo, nullptr, &sim) != TERN_OK) {
        fprintf(stderr, "%s on %s: %s\n", what, word, tern_last_error());
        exit(1);
    }
    double ours = tern_sim_get_facts(sim)->time_us;
    double theirs = in_a_child([=] { return simgrid_us(plan, topo); });
    double off = std::fabs(ours - theirs) / theirs;
    bool right = off <= WORST; // not when it is no number
    score.cases++;
    score.wrong += !right;
    score.worst = off > score.worst || std::isnan(off) ? off : score.worst;
    printf("%-9s %-15s %-28s %14.4f us, SimGrid %14.4f us, off by %.1e\n", right ? "" : "WRONG",
           word, what, ours, theirs, off);
    tern_sim_destroy(sim);
    tern_topo_destroy(topo);
    tern_plan_destroy(plan);
}

// Every algorithm of every kind that the topology allows; `nth` of them are taken.
static void compare_algorithms(const char *word, int nth, score &score)
{
    int count = 0;
    tern_topo *topo = make_topo(word);
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        for (int i = 0;; i++) {
            const char *name = tern_algo_name(static_cast<tern_plan_kind>(kind), i);
            if (name == nullptr) {
                break;
            }
            tern_algo_request request = {};
            request.kind = static_cast<tern_plan_kind>(kind);
            request.topo = topo;
            request.bytes = kind == TERN_PLAN_BARRIER ? 0 : UINT64_C(1) * 840 * 4 * 240;
            request.bytes -= request.bytes % static_cast<uint64_t>(4 * tern_topo_size(topo));
            request.unit = 4;
            request.order = TERN_ORDER_ANY;
            request.algorithm = name;
            tern_plan *plan = nullptr;
            if (tern_algo_plan(&request, &plan) != TERN_OK) {
                continue; // not on this topology
            }
            if (count++ % nth != 0 || tern_plan_total_ops(plan) > OPS_MOST) {
                tern_plan_destroy(plan);
                continue;
            }
            std::string what = std::string(tern_plan_kind_name(request.kind)) + " " + name;
            compare(plan, word, what.c_str(), score);
        }
    }
    tern_topo_destroy(topo);
}

static tern_plan_range some_range(uint64_t &seed, int rank, bool out)
{
    tern_plan_range range = {};
    range.rank = static_cast<uint16_t>(rank);
    range.buffer = out ? TERN_PLAN_OUT : TERN_PLAN_IN;
    range.offset = 4 * random_below(&seed, 100);
    return range;
}

// A rank that `rank` reaches in the direction wanted, or itself.
static int some_peer(uint64_t &seed, const tern_topo *topo, int rank, bool to)
{
    uint64_t n = static_cast<uint64_t>(tern_topo_size(topo));
    int peer = static_cast<int>(random_below(&seed, n));
    bool there =
        to ? tern_topo_link(topo, rank, peer, nullptr) : tern_topo_link(topo, peer, rank, nullptr);
    return there ? peer : rank;
}

// Ops of chance in lanes of chance, in an order in which all waits can end. What the plan computes
// does not matter here.
static void compare_random(const char *word, uint64_t seed, score &score)
{
    tern_topo *topo = make_topo(word);
    int n = tern_topo_size(topo);
    tern_plan_spec spec = {};
    tern_plan *plan = nullptr;
    spec.kind = TERN_PLAN_ALL_REDUCE;
    spec.nranks = n;
    spec.bytes = 1 << 20;
    spec.unit = 4;
    bool made = tern_plan_create(&spec, &plan) == TERN_OK;
    std::vector<std::vector<uint32_t>> posted(static_cast<size_t>(n), std::vector<uint32_t>(3));
    for (int i = 0; made && i < 40 * n; i++) {
        int rank = static_cast<int>(random_below(&seed, static_cast<uint64_t>(n)));
        int lane = static_cast<int>(random_below(&seed, 3));
        uint32_t signal = static_cast<uint32_t>(random_below(&seed, 3));
        std::vector<tern_plan_range> from;
        std::vector<tern_plan_range> to;
        tern_plan_op op = {};
        switch (random_below(&seed, 4)) {
        case 0:
            op.kind = TERN_PLAN_POST;
            op.peer = some_peer(seed, topo, rank, true);
            op.signal = signal;
            posted[static_cast<size_t>(op.peer)][signal]++;
            break;
        case 1:
            op.kind = TERN_PLAN_WAIT;
            op.signal = signal;
            op.count = posted[static_cast<size_t>(rank)][signal];
            if (op.count == 0) {
                continue;
            }
            op.count = 1 + static_cast<uint32_t>(random_below(&seed, op.count));
            break;
        default:
            for (uint64_t k = 1 + random_below(&seed, 3); k > 0; k--) {
                from.push_back(some_range(seed, some_peer(seed, topo, rank, false), false));
            }
            for (uint64_t k = 1 + random_below(&seed, 3); k > 0; k--) {
                to.push_back(some_range(seed, some_peer(seed, topo, rank, true), true));
            }
            op.kind = TERN_PLAN_REDUCE;
            op.length = 4 * random_below(&seed, 1 << random_below(&seed, 18));
            op.sources = from.data();
            op.sources_count = static_cast<int>(from.size());
            op.destinations = to.data();
            op.destinations_count = static_cast<int>(to.size());
        }
        made = tern_plan_add(plan, rank, lane, &op) == TERN_OK;
    }
    if (!made || tern_plan_seal(plan) != TERN_OK) {
        fprintf(stderr, "a random plan: %s\n", tern_last_error());
        exit(1);
    }
    tern_topo_destroy(topo);
    compare(plan, word, "random", score);
}

int main()
{
    score score;
    uint64_t seed = random_seed();
    for (int i = 0; i < TOPOLOGIES; i++) {
        compare_algorithms(topologies[i], i < 3 ? 2 : 3, score);
        for (int k = 0; k < 3; k++) {
            compare_random(topologies[i], random_next(&seed), score);
        }
    }
    printf("%d cases, %d off by more than %g; the worst by %.1e\n", score.cases, score.wrong, WORST,
           score.worst);
    return score.wrong == 0 && score.cases >= 30 ? 0 : 1;
}

#endif
