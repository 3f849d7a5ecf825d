# SPDX-License-Identifier: Apache-2.0
"""The simulator and certificates from Python: what is found is what `tern sim` prints, as arrays;
sweeps; options; programs; pages; sentences."""

from __future__ import annotations

import json
import os
import pickle
import subprocess

import numpy as np
import pytest

import tern
from tern import _library

TERN = os.path.join(os.path.dirname(_library.lib().path), "../bin/tern")
MESH = "mesh:5"


def two_ranks():
    """Rank 0 writes 4 us to rank 1, says so, and rank 1 writes 1 us to itself."""
    build = tern.PlanBuilder("all_reduce", nranks=2, bytes=200_000)
    build.copy(0, "0.in+0", ["1.out+0"], 100_000)
    build.post(0, peer=1, signal=3)
    build.wait(1, signal=3)
    build.copy(1, "1.in+0", ["1.out+100000"], 25_000)
    return build.seal()


def test_what_is_found():
    found = tern.sim(two_ranks(), "mesh:2")
    assert found.time_us == pytest.approx(2 + 4 + 2)
    assert found.ranks_us.tolist() == pytest.approx([6, 8])
    assert found.algbw_GBps == pytest.approx(0.2e6 / 8e3) and found.stuck is None
    assert (found.ops, found.flows, found.traced) == (4, 1, 0)
    assert found.uses.dtype.names == ("name", "from", "to", "GBps", "bytes", "least_us", "busy_us",
                                      "first_us", "last_us")
    assert found.uses.tolist() == [("link 0>1", 0, 1, 25, 100_000, 4, 4, 2, 6)]
    assert found.path["op"].tolist() == ["copy", "post"]
    assert found.path["what"].tolist() == ["link 0>1", "start-up"]
    assert found.path["end_us"].tolist() == pytest.approx([6, 8])
    assert found.parts["what"].tolist() == ["link 0>1", "start-up"]
    assert found.parts["us"].sum() == pytest.approx(found.time_us)
    assert found.loss.after_us == pytest.approx(2) and sum(found.loss) == pytest.approx(8)
    assert found.bound_us == pytest.approx(8) and "apart" in found.bound_text
    assert "8.000 us" in repr(found)


def test_the_same_as_the_command():
    plan = tern.Plan.make("all_reduce", tern.Topology("mesh:8", cut="0-1"), 6 << 20,
                          algorithm="cut_relay")
    found = plan.sim(tern.Topology("mesh:8", cut="0-1"), jitter=0.2, seed=7, op_us=0.5,
                     memory=100)
    done = subprocess.run([TERN, "sim", "all_reduce", "--topo", "mesh:8", "--cut", "0-1", "--bytes",
                           "6M", "--algo", "cut_relay", "--jitter", "0.2", "--seed", "7", "--op",
                           "0.5", "--memory", "100", "--json", "--ranks", "--steps"],
                          capture_output=True, text=True, check=True, timeout=60)
    told = json.loads(done.stdout)
    assert found.time_us == pytest.approx(told["time_us"], abs=1e-6)
    assert found.ranks_us.tolist() == pytest.approx(told["ranks_us"], abs=1e-6)
    assert found.uses["bytes"].tolist() == [use["bytes"] for use in told["use"]]
    assert found.path["index"].tolist() == [step["index"] for step in told["steps"]]
    assert found.loss.idle_us == pytest.approx(told["lost"]["idle_us"], abs=1e-6)


def test_options():
    plan = two_ranks()
    # 100000 bytes are read from the own memory at 5 GB/s; then 25000 are read and written there.
    assert plan.sim("mesh:2", reduce=1, copy=5).time_us == pytest.approx(20 + 2 + 10)
    assert plan.sim("mesh:2", reduce=[1, 2, 3, 4], machine_memory=50).time_us == pytest.approx(9)
    bare = plan.sim("mesh:2", path=False, bound=False)
    assert bare.bound_us is None and len(bare.path) == 0 == len(bare.parts)
    times = [plan.sim("mesh:2", jitter=0.5, seed=seed).time_us for seed in (1, 1, 2)]
    assert times[0] == times[1] != times[2]
    stuck = plan.sim("mesh:2", fail=["0>1@3"])
    assert np.isinf(stuck.time_us) and np.isinf(stuck.ranks_us).all() and stuck.loss is None
    assert "which has failed with 75000 of 100000 bytes to go" in stuck.stuck


def test_sweeps():
    sizes = [1 << 10, 1 << 20]
    table = tern.sim_sizes("all_reduce", MESH, sizes, ["ring", "fused"])
    assert table["bytes"].tolist() == [sizes[0], sizes[0], sizes[1], sizes[1]]
    assert table["algorithm"].tolist() == ["ring", "fused"] * 2
    assert (table["time_us"] >= table["bound_us"]).all()
    assert np.allclose(table["algbw_GBps"] * table["time_us"] * 1e3, table["bytes"])
    selected = tern.sim_sizes("broadcast", MESH, sizes, root=2, jitter=0.1, bound=False)
    assert len(selected) == 2 and np.isnan(selected["bound_us"]).all()
    made = tern.sim_sizes("all_reduce", MESH, [1 << 20], "ring", generated=True)
    program = tern.Program("ring", 5, 1 << 20)
    assert made["time_us"][0] == tern.sim(program, MESH).time_us


def test_programs():
    names = dict(tern.Program.algorithms())
    assert "ring" in names and all(names.values())
    program = tern.Program("hierarchical", 6, 4 * 1003, group=3)
    program.plan().prove()
    again = pickle.loads(pickle.dumps(program))
    assert (again.nranks, again.bytes, again.algorithm) == (6, 4 * 1003, "hierarchical")
    assert tern.sim(again, "mesh:6").time_us == tern.sim(program.plan(), "mesh:6").time_us
    many = tern.sim(tern.Program("halving_doubling", 2048, 1 << 20), "mesh:2048", path=False)
    assert many.ranks_us.shape == (2048,) and many.bound_us is None
    with pytest.raises(tern.LimitError, match="2048"):
        tern.Program("ring", 2048, 1 << 20).plan()
    with pytest.raises(tern.ArgumentError, match="no program 'rings'"):
        tern.Program("rings", 4, 64)


def test_traces_and_pages(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    found = two_ranks().sim("mesh:2", trace=tmp_path / "é.json", timeline=tmp_path / "é.html")
    assert np.isinf(found.traced_us) and found.traced == 4
    names = {e["name"] for e in json.loads((tmp_path / "é.json").read_text())["traceEvents"]}
    assert {"copy #0", "post #1", "wait #0", "link 0>1"} <= names
    page = (tmp_path / "é.html").read_text()
    assert "<title>custom, 200000 bytes, on mesh:2: simulated</title>" in page
    part = two_ranks().sim("mesh:2", timeline=tmp_path / "part.html", trace_events=1)
    assert (part.traced, part.traced_us) == (1, pytest.approx(6))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part.html", "é.html", "é.json"]


def test_sentences(tmp_path):
    plan = two_ranks()
    for call, sentence in (
            (lambda: plan.sim("mesh:3"), "the plan is for 2 ranks"),
            (lambda: plan.sim("mesh:2", jitter=-1), "jitter is from 0"),
            (lambda: plan.sim("mesh:2", reduce=[1, 2]), "2 rates"),
            (lambda: plan.sim("mesh:2", fail="0-1"), "not '0-1'"),
            (lambda: plan.sim("mesh:2", fail=["0-1@1"] * 65), "more than 64"),
            (lambda: plan.sim("mesh:2", seed=-1), "seed is -1"),
            (lambda: tern.sim("all_reduce", "mesh:2"), "neither a Plan nor a Program"),
            (lambda: tern.sim_sizes("all_reduce", "mesh:2048", [64]), "which program"),
            (lambda: tern.sim(plan, None), "a topology is of type NoneType")):
        with pytest.raises(tern.ArgumentError, match=sentence):
            call()
    with pytest.raises(tern.SystemCallError, match="nowhere"):
        plan.sim("mesh:2", trace="/nowhere/t.json")


def test_summaries_have_resources():
    plan = tern.Plan.make("all_reduce", "switch:4", 1 << 20)
    summary = plan.summary("switch:4")
    busiest = summary.busiest_resource
    assert summary.resources == 8 and busiest.name.startswith("rank")
    assert busiest.us == pytest.approx(busiest.bytes / 25e3)
    assert plan.summary("mesh:4").busiest_resource is None


def certificate(*words, **named):
    try:
        return tern.Certificate.make(*words, **named)
    except tern.StateError as error:
        pytest.skip(str(error))


def test_certificates(tmp_path):
    made = certificate("all_reduce", "mesh:4")
    proof = made.check("mesh:4")
    # 6 crossings of each byte share 12 links of 25 GB/s.
    assert (proof.kind, proof.scope) == ("all_reduce", "all_plans")
    assert proof.us_per_byte == pytest.approx(6 / (12 * 25e3)) == proof.us_per_byte_all
    assert str(proof) == proof.text
    made.save(tmp_path / "mesh.cert")
    again = tern.Certificate.load(tmp_path / "mesh.cert")
    assert again.check("mesh:4") == proof
    slower = again.check(tern.Topology("mesh:4", slow="0-1=0.5")).us_per_byte
    assert slower == pytest.approx(6 / (11 * 25e3))
    with pytest.raises(tern.ArgumentError):
        again.check("mesh:5")
    with pytest.raises(tern.ArgumentError, match="mesh.plan:1"):
        (tmp_path / "mesh.plan").write_text("nothing\n")
        tern.Certificate.load(tmp_path / "mesh.plan")
    cut = tern.Topology("mesh:5", cut="0-1")
    ranked = certificate("all_reduce", cut, order="rank").check(cut)
    assert ranked.scope == "prefix_plans" and ranked.us_per_byte > ranked.us_per_byte_all


def test_ranks_that_share_processors():
    plan = tern.Plan.make("all_reduce", "mesh:4", 1 << 20, algorithm="fused")
    options = dict(processors=2, copy=10, reduce=5, post_us=0.3, begin_us=1, meet_us=2, wake_us=4)
    one = plan.sim("mesh:4", **options)
    assert one.time_us > plan.sim("mesh:4", **{**options, "processors": 4}).time_us
    assert one.time_us < plan.sim("mesh:4", **{**options, "fresh": 1, "processors": 1}).time_us
    told = subprocess.run([TERN, "sim", "all_reduce", "--topo", "mesh:4", "--bytes", "1M", "--algo",
                           "fused", "--processors", "2", "--copy", "10", "--reduce", "5", "--post",
                           "0.3", "--begin", "1", "--meet", "2", "--wake", "4", "--json"],
                          capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(told.stdout)["time_us"] == pytest.approx(one.time_us)
