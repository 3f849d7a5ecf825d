# SPDX-License-Identifier: Apache-2.0
"""Nodes from Python: a host and chips, which are ranks of a launch; kernels compiled and in Python,
graphs on chips, groups, domains, what lives how long, and what goes wrong."""

from __future__ import annotations

import ctypes
import functools
import gc
import re
import shutil
import subprocess
import types
from pathlib import Path

import numpy as np
import pytest

import tern
from tern import In, InOut, NoDep, Out, OutTo, Region

SOURCE = Path(__file__).parent / "kernels/basic.c"
INCLUDE = Path(__file__).resolve().parents[2] / "include"
launch = functools.partial(tern.launch, timeout=60)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if shutil.which("cc") is None:
        pytest.skip("cc is not installed")
    made = tmp_path_factory.mktemp("kernels") / "basic.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", f"-I{INCLUDE}", str(SOURCE), "-o", str(made)],
                   check=True)
    return str(made)


def add(x, number):
    x += number


def double(x, y):
    y[:] = 2 * x


def refuse(x):
    raise ValueError(f"{x.size} is too many")


def words_at(address):
    return ctypes.c_int32.from_address(address)


def exchange(mine, context):
    """Adds what the peer has: tells it, waits for it, twice."""
    own = context.windowsIn[context.rankId]
    peer = 1 - context.rankId
    window = (ctypes.c_float * mine.size).from_address(context.windowsIn[peer] + 64)
    theirs = np.frombuffer(window, np.float32)
    for turn in (1, 2):
        words_at(context.remote(own + 4 * turn, peer)).value = turn
        while words_at(own + 4 * turn).value != turn:
            pass
        if turn == 1:
            both = mine + theirs
    mine[:] = both


def count_up(graph, x, often):
    for _ in range(often):
        graph.submit(add, [InOut(x), 1])


FUNCTIONS = {"add": add, "double": double, "refuse": refuse, "exchange": exchange}


def with_node(host, comm, **options):
    """The host's part on rank 0; serving on the others."""
    if comm.rank != 0:
        tern.serve(comm, FUNCTIONS, graphs={"count_up": count_up})
        return None
    with tern.Node(comm, **options) as node:
        return host(node)


def in_order(node):
    assert node.chips == 3 and "3 chips" in repr(node)
    with node.domain([], 4096) as domain:
        x = domain.array("host", 64)
        looks, elements = [], []

        def program(graph):
            for chip in range(3):
                graph.submit_to(chip, "add", [InOut(x[chip * 16:(chip + 1) * 16]), chip + 1])
            both = graph.submit_to(None, "double", [In(x), Out(x.shape)])
            graph.submit_to(2, "count_up", [InOut(both.out), 3], name="three times")
            graph.submit(lambda y: looks.append(y.copy()), [In(both.out)], name="look")
            elements.append(graph.get(both.out, 40))

        node.run(program)
        node.run(program)
    once = 2 * np.repeat(np.float32([1, 2, 3, 0]), 16)
    return elements == [9, 15] and np.array_equal(looks, [once + 3, 2 * once + 3])


def test_tasks_run_in_the_order_of_their_memory():
    assert launch(with_node_in_order, 4)[0]


def with_node_in_order(comm):
    return with_node(in_order, comm)


def in_groups(comm):
    def host(node):
        with node.domain([1, 0], 4096) as pair:
            parts = [pair.array(i, 8, offset=64) for i in range(2)]
            for i, one in enumerate(parts):
                one[:] = np.arange(8) + 100 * i
            node.run(lambda graph: graph.submit_to(
                [1, 0], "exchange", [[InOut(parts[0])], [InOut(parts[1])]], domains=[pair]))
            return all(np.array_equal(one, 2 * np.arange(8) + 100) for one in parts)

    return with_node(host, comm)


def test_groups_have_contexts_of_their_domains():
    assert launch(in_groups, 3)[0]


def loaded(comm, library):
    if comm.rank != 0:
        tern.serve(comm, {"compiled": tern.Kernels(library).add_to_all})
        return None
    with tern.Node(comm) as node:
        with pytest.raises(tern.KernelError, match="chip 0 .rank 1.*nowhere"):
            node.load("/nowhere.so")
        node.load(library)
        domain = node.domain([0], 4096)
        x, y = domain.array(0, (4, 4)), domain.array("host", (4, 4), offset=1024)
        x[:] = np.arange(16).reshape(4, 4)
        node.run(lambda graph: [graph.submit_to(0, "compiled", [In(x[:, 1:3]), OutTo(y[:, 1:3]), 5]),
                                graph.submit_to(0, "add_to_all", [In(y), OutTo(x), 1])])
        return np.array_equal(x[:, 2], np.arange(16).reshape(4, 4)[:, 2] + 6) and x[0, 0] == 1


def test_compiled_kernels_and_loaded_objects(library):
    assert launch(loaded, 2, library)[0]


def failing(comm):
    def host(node):
        domain = node.domain([0], 4096)
        x = domain.array("host", 4)

        def program(graph):
            graph.submit_to(1, "add", [InOut(x), 1])
            graph.submit_to(0, "refuse", [InOut(x)])
            for _ in range(9):
                graph.submit_to(1, "add", [InOut(x), 1])

        for _ in range(2):
            with pytest.raises(tern.KernelError) as error:
                node.run(program)
            for words in ("task 'refuse' failed on chip 0 (rank 1)", "ValueError: 4 is too many"):
                assert words in str(error.value)
        assert x[0] == 2
        with pytest.raises(tern.KernelError, match="there is no function 'nobody'"):
            node.run(lambda graph: graph.submit_to(0, "nobody"))

        def wrong(graph):
            raise RuntimeError("no more")

        with pytest.raises(tern.Error, match="no more") as error:
            node.run(wrong)
        assert isinstance(error.value.__cause__, RuntimeError)
        node.run(lambda graph: graph.submit_to(1, "add", [InOut(x), 1]))
        return x[0] == 3

    return with_node(host, comm)


def whole(comm):
    calls = []
    if comm.rank != 0:
        graph = tern.Graph()
        first = graph.add(lambda: calls.append(1))
        graph.add(lambda: calls.append(2), after=first)
        tern.serve(comm, graphs={"whole": graph})
        return calls
    with tern.Node(comm) as node:
        node.run(lambda graph: [graph.submit_to(0, "whole") for _ in range(3)])


def test_a_graph_of_a_chip_runs_again():
    assert launch(whole, 2)[1] == [1, 2] * 3


def test_a_kernel_that_raises_ends_the_run_with_its_sentence():
    assert launch(failing, 3)[0]


def documented(comm):
    page = (INCLUDE.parent / "docs/node.md").read_text()
    block = re.search(r"```python\n(# node\n.*?)```", page, re.S)[1]
    looked = []
    names = {"comm": comm, "tern": tern, "In": In, "InOut": InOut, "exchange": exchange,
             "kernels": types.SimpleNamespace(add=add), "look": lambda b: looked.append(b.copy()),
             "build": lambda graph, b: graph.submit(add, [InOut(b), 10])}
    exec(compile(block, "node", "exec"), names)
    return looked


def test_the_example_of_the_page():
    assert np.array_equal(launch(documented, 3)[0], [np.full(8, 13)])


def outliving(comm):
    kept = []

    def host(node):
        domain = node.domain([0], 4096)
        kept.append(domain.array(0, 8))
        node.run(lambda graph: graph.submit_to(0, "add", [InOut(kept[0]), 7]))
        kept.append(domain)
        return node

    node = with_node(host, comm)
    if node is None:
        return None
    gc.collect()
    assert "closed" in repr(node) and (kept[0] == 7).all()
    kept[0] += 1
    for call in (lambda: node.run(print), lambda: node.domain([], 64), lambda: node.chips):
        with pytest.raises(tern.StateError, match="the node is closed"):
            call()
    with pytest.raises(tern.ArgumentError, match="has been destroyed"):
        kept[1].array(0, 1)
    node.close()
    return (kept[0] == 8).all()


def test_arrays_outlive_the_node():
    assert launch(outliving, 2)[0]


def misused(comm):
    def host(node):
        domain = node.domain([0], 64)
        mine, x = np.zeros(4, np.float32), domain.array(0, 4)
        calls = [
            (lambda graph: graph.submit_to(0, "add", [InOut(mine), 1]), "do not reach its memory"),
            (lambda graph: graph.submit_to(0, "add", [x, 1]), "is memory; how is it used"),
            (lambda graph: graph.submit_to(5, "add", [InOut(x), 1]), r"chips\[0\] is 5"),
            (lambda graph: graph.submit_to([0, 1], "add", [[InOut(x), 1]]), "2 lists of one length"),
            (lambda graph: graph.submit_to(1, "add", domains=[domain]), "no member of domain"),
            (lambda graph: graph.submit_to(0, "n" * 64), "1 to 63 characters"),
        ]
        for call, words in calls:
            with pytest.raises(tern.Error, match=words):
                node.run(call)
        for member, shape, words in [(1, 4, "no member 1"), (0, 17, "not inside the domain"),
                                     (0, -1, "not inside the domain")]:
            with pytest.raises(tern.ArgumentError, match=words):
                domain.array(member, shape)
        with pytest.raises(tern.ArgumentError, match="in the middle"):
            domain.array(0, 1, offset=2)
        with pytest.raises(tern.OutOfMemoryError, match="in a piece are free"):
            node.domain([0], 1 << 40)
        domain.close()
        domain.close()
        with pytest.raises(tern.StateError, match="the domain is closed"):
            domain.array(0, 4)
        node.run(lambda graph: graph.submit_to(0, "add", [NoDep(Region(x)), 1]))
        return x[0] == 1

    if comm.rank == 1:
        with pytest.raises(tern.ArgumentError, match="'add' is of type int"):
            tern.serve(comm, {"add": 3})
    return with_node(host, comm, memory=8192)


def test_what_is_wrong_has_sentences():
    assert launch(misused, 3)[0]
