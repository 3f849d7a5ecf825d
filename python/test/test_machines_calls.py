# SPDX-License-Identifier: Apache-2.0
"""Communicators, collective calls and nodes of ranks on several "machines" of this box."""

import pytest

from machines import run_on

CALLS = """
import sys
import numpy as np
import tern

comm = tern.init()
n, me = comm.size, comm.rank
everyone = np.arange(n, dtype=np.float32)

def check(comm, n, me):
    mine = np.arange(5000, dtype=np.float32) + me
    total = np.arange(5000, dtype=np.float32) * n + n * (n - 1) // 2
    assert np.array_equal(comm.all_reduce(mine), total)
    assert np.array_equal(comm.all_gather(np.float32([me])), np.arange(n))
    assert np.array_equal(comm.broadcast(np.full(7, me, np.int32), root=n - 1), np.full(7, n - 1))
    got = comm.reduce(np.float64([me]), root=n - 1)
    assert me != n - 1 or got[0] == n * (n - 1) / 2
    assert np.array_equal(comm.reduce_scatter(np.arange(2 * n, dtype=np.int64)),
                          n * np.arange(2 * me, 2 * me + 2))
    assert np.array_equal(comm.all_to_all(np.arange(n, dtype=np.int32) + 100 * me),
                          100 * np.arange(n) + me)
    assert np.array_equal(comm.all_gather_v(np.full(me + 1, me, np.int16), range(1, n + 1)),
                          np.repeat(np.arange(n), range(1, n + 1)))
    after, before = (me + 1) % n, (me + n - 1) % n
    told = np.zeros(40000, np.int32)
    if me % 2 == 0 and n > 1:
        comm.send(np.full(40000, me, np.int32), after)
        comm.recv(told, before)
    elif n > 1:
        comm.recv(told, before)
        comm.send(np.full(40000, me, np.int32), after)
    assert n == 1 or (told == before).all()
    comm.barrier()

check(comm, n, me)
half = comm.split(me % 2, -me)
members = [rank for rank in reversed(range(n)) if rank % 2 == me % 2]
assert half.size == len(members) and half.rank == members.index(me)
check(half, half.size, half.rank)
half.destroy()
assert comm.split(0 if me == 0 else -1, 0) is None or me == 0
check(comm, n, me)
"""

NODE = """
import sys
import numpy as np
import tern
from tern import In, InOut, NoDep

layout = sys.argv[1]
comm = tern.init()

def add(x, number):
    x += number

def look(graph, x):
    for _ in range(3):
        graph.submit(add, [InOut(x), 10])

def refuse(x):
    raise ValueError(f"{x.size} is too many")

if comm.rank != 0:
    tern.serve(comm, {"add": add, "refuse": refuse}, graphs={"thirty": look})
else:
    with tern.Node(comm) as node:
        chips = range(node.chips)
        domain = node.domain(chips, 4096)
        arrays = [domain.array(chip, 8, offset=64) for chip in chips]
        last = arrays[-1]
        assert [domain.is_local(chip) for chip in chips] == [m == layout[0] for m in layout[1:]]
        assert domain.is_local("host")
        for wrong in (lambda: domain.is_local(node.chips), lambda: domain.write(0, np.zeros(8), 4090),
                      lambda: domain.read(0, np.zeros((4, 4))[:, :2]),
                      lambda: domain.read(node.chips, np.zeros(1))):
            try:
                wrong()
                sys.exit("it was taken")
            except tern.ArgumentError:
                pass
        for chip in chips:
            domain.write(chip, np.full(8, chip, np.float32), 64)
        seen = []
        def program(graph):
            for chip in chips:
                graph.submit_to(chip, "add", [InOut(arrays[chip]), 5])
                graph.submit_to((chip + 1) % node.chips, "add", [InOut(arrays[chip]), 1])
            graph.submit_to(node.chips - 1, "thirty", [InOut(last)])
            seen.append(graph.get(last, 3))
        node.run(program)
        for chip in chips:
            wanted = chip + 6 + 30 * (chip == node.chips - 1)
            assert (domain.read(chip, np.zeros(8, np.float32), 64) == wanted).all()
        assert seen == [node.chips - 1 + 36]
        for wrong, words in (
                (lambda graph: graph.submit_to(0, "refuse", [InOut(arrays[0])]), "8 is too many"),
                (lambda graph: graph.submit(print, [In(last)]), "a task of the host cannot load")):
            try:
                node.run(wrong)
                sys.exit("it ran")
            except tern.Error as error:
                assert words in str(error), error
        node.run(program)
"""


@pytest.mark.parametrize("layout", ["ab", "abb", "aabb"])
def test_calls_and_communicators(layout, tmp_path):
    run_on(layout, tmp_path, CALLS)


@pytest.mark.parametrize("layout", ["ab", "aab", "aabb"])
def test_nodes(layout, tmp_path):
    run_on(layout, tmp_path, NODE, layout)
