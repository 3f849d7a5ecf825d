# SPDX-License-Identifier: Apache-2.0
"""Plans without ranks: made, read, written by hand, printed, proved, refuted, priced."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tern
from tern import _library
from tern.plan import Op, Plan, PlanBuilder, Range

COMMAND = Path(_library.find()).parents[1] / "bin/tern"


def broadcast():
    build = PlanBuilder("broadcast", nranks=2, bytes=64, root=0)
    build.copy(0, "0.in+0", ["0.out+0", (1, "out", 0)], 64)
    build.post(0, peer=1, signal=0)
    build.wait(1, signal=0)
    return build.seal()


def test_an_algorithm_makes_the_plan_of_the_command():
    plan = Plan.make("all_reduce", tern.Topology("mesh:8", cut="0-1"), 6 << 20)
    said = subprocess.run([str(COMMAND), "plan", "all_reduce", "--topo", "mesh:8", "--cut", "0-1",
                           "--bytes", "6M"], capture_output=True, text=True, check=True).stdout
    assert str(plan) == said
    assert (plan.kind, plan.nranks, plan.bytes, plan.unit) == ("all_reduce", 8, 6 << 20, 4)
    assert f"by {plan.algorithm}" in repr(plan)
    staged = Plan.make("all_reduce", "mesh:4", 4096, as_run="slot")
    assert staged.slots == ("in",) or "scratch" in staged.slots


@pytest.mark.parametrize("kind", ["all_reduce", "reduce_scatter", "all_gather", "broadcast",
                                  "reduce", "gather", "scatter", "all_to_all", "barrier"])
def test_every_algorithm_of_a_kind_is_proved(kind):
    found = tern.algorithms(kind)
    assert found
    for algorithm in found:
        for nranks in (2, 3, 8):
            size = 0 if kind == "barrier" else 8 * 3 * 4 * 16
            topo = f"machines:{nranks}x1" if algorithm.across_machines else f"mesh:{nranks}"
            try:
                plan = Plan.make(kind, topo, size, algorithm=algorithm.name)
            except tern.ArgumentError:
                assert nranks != 8 or algorithm.around_cut  # some need a number of ranks
                continue
            assert plan.algorithm == algorithm.name
            assert plan.check(topo).proved
            assert plan.check(in_place=True).proved or not algorithm.in_place


def test_a_plan_by_hand_is_its_text_and_its_ops():
    plan = broadcast()
    assert str(plan).splitlines() == [
        "tern-plan 1", "kind broadcast", "ranks 2", "bytes 64", "unit 4", "algorithm custom",
        "root 0", "rank 0 lane 0", "copy @0 64 : 0.in+0 -> 0.out+0 1.out+0",
        "post @0 rank 1 signal 0", "rank 1 lane 0", "wait @0 signal 0 count 1", "end"]
    assert list(plan.ops(0)) == [
        Op("copy", 0, 64, (Range(0, "in", 0),), (Range(0, "out", 0), Range(1, "out", 0))),
        Op("post", peer=1)]
    assert [str(op) for rank in range(2) for op in plan.ops(rank)] == [
        line for line in str(plan).splitlines() if line.startswith(("copy", "post", "wait"))]
    assert plan.lane_count(0) == 1 and plan.signal_count(1) == 1 and plan.signal_count(0) == 0
    assert plan.buffer_bytes("in") == 64 and plan.buffer_bytes("scratch") == 0
    assert plan.rounds == 1 and plan.op_count == 3 and plan.root == 0
    plan.prove()


def test_ops_go_from_plan_to_plan():
    plan = Plan.make("all_reduce", "mesh:4", 1 << 16, algorithm="ring")
    build = PlanBuilder("all_reduce", 4, 1 << 16, algorithm=plan.algorithm,
                        scratch=plan.buffer_bytes("scratch"))
    for rank in range(4):
        for lane in range(plan.lane_count(rank)):
            for op in plan.ops(rank, lane):
                build.add(rank, op, lane)
    assert build.seal() == plan


def test_text_files_and_copies_are_the_same_plan(tmp_path):
    plan = broadcast()
    plan.save(tmp_path / "a.plan")
    for other in (Plan.parse(str(plan)), Plan.load(tmp_path / "a.plan"), copy.deepcopy(plan),
                  pickle.loads(pickle.dumps(plan))):
        assert other == plan and hash(other) == hash(plan) and other is not plan
    assert plan != Plan.make("barrier", "mesh:2")


def test_a_text_that_is_none_says_line_and_column():
    with pytest.raises(tern.ArgumentError, match=r"mine:2:6: .*all_reduce"):
        Plan.parse("tern-plan 1\nkind nothing\n", "mine")
    with pytest.raises(tern.SystemCallError, match="nowhere.plan"):
        Plan.load("/nowhere.plan")


def refuted(text, topo=None, in_place=False):
    with pytest.raises(tern.CheckError) as caught:
        Plan.parse(text).prove(topo, in_place)
    return caught.value


def test_a_lost_wait_is_a_race_with_its_ops():
    text = str(broadcast())
    error = refuted(text.replace("rank 1 lane 0\nwait @0 signal 0 count 1\n", ""))
    assert (error.rule, error.kind) == ("race", "unawaited")
    place = error.findings[0].places[0]
    assert text.splitlines()[place.line - 1] == place.text
    assert (error.rank, error.lane, error.op) == (place.rank, place.lane, place.op) == (0, 0, 0)
    assert "never waits" in error.sentence and error.sentence in str(error)
    assert not error.check and error.check.undecided == ()
    assert "refuted" in str(error.check) and error.check.counts["race"] == 1


def test_findings_of_every_rule():
    text = str(broadcast())
    error = refuted(text.replace("count 1", "count 2"))
    assert (error.rule, error.kind) == ("deadlock", "starved")
    assert (error.rank, error.op, error.line) == (1, 0, 12)
    assert error.check.undecided == ("race", "result")
    error = refuted(text.replace("1.out+0", "1.out+4"))
    assert (error.rule, error.kind, error.rank, error.op) == ("bounds", "outside", 0, 0)
    error = refuted(text.replace(" 1.out+0", ""))
    assert (error.rule, error.kind) == ("result", "unwritten")
    assert error.rank is None and error.line is None and "rank 1" in error.sentence
    error = refuted(text, tern.Topology("mesh:2", cut="0>1"))
    assert error.rule == "link" and error.kind == "no_link" and error.rank == 0
    plan = Plan.make("all_reduce", "mesh:3", 12, algorithm="one_shot")
    error = refuted(str(plan), in_place=True)
    assert error.rule == "in_place" and len(error.findings) > 1
    assert f"and {len(error.findings) - 1} more finding" in str(error)


def test_one_operand_needs_no_list():
    texts = []
    for single in (lambda one: one, lambda one: [one], lambda one: (one,)):
        build = PlanBuilder("reduce", nranks=2, bytes=64, root=1)
        build.copy(0, "0.in+0", single("1.scratch+0"), 64)
        build.reduce(1, single(Range(1, "in", 0)), single((1, "out", 0)), 64)
        texts.append(str(build.seal()))
    assert texts[0] == texts[1] == texts[2] and "0.in+0" in texts[0]


def test_building_refuses_with_a_sentence():
    with pytest.raises(tern.ArgumentError, match="all_reduce"):
        PlanBuilder("everything", 2)
    with pytest.raises(tern.LimitError, match="1 to 1024 ranks, not 0"):
        PlanBuilder("barrier", 0)
    build = PlanBuilder("all_reduce", 2, 8)
    with pytest.raises(tern.ArgumentError, match=r"RANK\.BUFFER\+OFFSET"):
        build.copy(0, "in+0", ["0.out+0"], 8)
    with pytest.raises(tern.ArgumentError, match="none of in, out, scratch"):
        build.copy(0, (0, "inn", 0), ["0.out+0"], 8)
    with pytest.raises(tern.ArgumentError, match="no plan has such"):
        build.copy(0, (-1, "in", 0), ["0.out+0"], 8)
    with pytest.raises(tern.ArgumentError, match="rank 2"):
        build.post(0, peer=2)
    with pytest.raises(tern.ArgumentError, match="none of copy, reduce, post, wait"):
        build.add(0, Op("move"))
    build.seal()
    with pytest.raises(tern.StateError, match="has been sealed"):
        build.wait(0)
    with pytest.raises(tern.ArgumentError):
        broadcast().op(0, 0, 99)
    with pytest.raises(tern.ArgumentError, match="none of rank, any"):
        Plan.make("all_reduce", "mesh:2", 8, order="some")
    with pytest.raises(tern.ArgumentError, match="fastest"):
        Plan.make("all_reduce", "mesh:2", 8, algorithm="fastest")


def test_a_summary_prices_the_plan():
    plan = Plan.make("all_reduce", "mesh:4", 1 << 20)
    summary = plan.summary("mesh:4")
    assert summary.ops == plan.op_count == (summary.copies + summary.reduces + summary.posts +
                                            summary.waits)
    assert summary.rounds == plan.rounds and summary.links == 12 and summary.missing == 0
    assert 0 < summary.reached <= 1 and "% of the bound" in str(summary)
    assert plan.summary(tern.Topology("mesh:4", cut="0-1")).missing > 0


def test_topologies():
    topo = tern.Topology("mesh:4", cut=["0-1"], slow="2>3=0.5")
    assert topo.size == 4 and topo.link_count == 10 and topo.link(0, 1) is None
    assert topo.link(2, 3).bandwidth_GBps * 2 == topo.link(3, 2).bandwidth_GBps
    assert str(topo) == "mesh:4 --cut 0-1 --slow '2>3=0.5'"
    assert str(pickle.loads(pickle.dumps(topo))) == str(topo)
    assert tern.Topology.presets()
    assert topo.resources == () and topo.uses(0, 2) == ()
    hosts = tern.Topology("hosts:2x2@50", slow="host1.in=0.5")
    assert [tuple(one) for one in hosts.resources] == [
        ("host0.out", 50), ("host0.in", 50), ("host1.out", 50), ("host1.in", 25)]
    assert hosts.uses(0, 3) == (0, 3) and hosts.uses(0, 1) == ()
    assert tern.Topology("machines:1+2").machines == ((0,), (1, 2))
    with pytest.raises(tern.ArgumentError, match="mesh"):
        tern.Topology("mush:4")
    with pytest.raises(tern.ArgumentError, match="0-9"):
        tern.Topology("mesh:4", cut="0-9")


def test_plans_are_searched_for():
    topo = tern.Topology("mesh:5", cut=["0-1", "0-2"])
    try:
        plan = Plan.make("all_reduce", topo, 1 << 20, algorithm="optimal", seed=3)
    except tern.StateError as error:
        pytest.skip(str(error))
    plan.prove(topo)
    assert plan.algorithm == "optimal"
    assert Plan.make("all_reduce", topo, 1 << 20, algorithm="optimal", seed=3) == plan
    assert Plan.make("all_reduce", "ring:5", 1 << 20).algorithm == "optimal"  # nothing else can
    begin = time.monotonic()
    plan = Plan.make("all_reduce", "random:16,1", 1 << 26, algorithm="optimal", order="any",
                     seconds=0.2)
    plan.prove("random:16,1")
    assert time.monotonic() - begin < 60
    with pytest.raises(tern.TimeoutError, match="no plan of all_to_all on ring:5 was found"):
        Plan.make("all_to_all", "ring:5", 1000, algorithm="optimal", seconds=1e-9)
    with pytest.raises(tern.LimitError, match="64 ranks, not 65"):
        Plan.make("all_reduce", "mesh:65", 1000, algorithm="optimal")
    with pytest.raises(tern.ArgumentError, match="-1 seconds"):
        Plan.make("all_reduce", "mesh:5", 1000, algorithm="optimal", seconds=-1)


def test_a_search_is_interrupted():
    program = ("import os, signal, threading, tern\n"
               "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
               "try:\n"
               "    while True:\n"
               "        tern.Plan.make('all_reduce', 'random:12,1', 1 << 26, algorithm='optimal')\n"
               "except KeyboardInterrupt:\n"
               "    print('interrupted')\n"
               "except tern.StateError:\n"
               "    print('interrupted: no GLPK')\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          timeout=120)
    assert done.stdout.startswith("interrupted") and done.returncode == 0, done
