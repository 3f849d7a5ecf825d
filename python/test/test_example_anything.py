# SPDX-License-Identifier: Apache-2.0
"""Any value in any field, and any value from a golden: a sentence or a config, no other error."""

from __future__ import annotations

import copy
import io
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from example_fixtures import CONFIG, GOLDEN, SINGLE_GOLDEN, Folder
from tern.example import config as reading
from tern.example.config import load_config
from tern.example.data import Workspace
from tern.example.golden import Golden, cases_of, expected_outputs, inputs_of_rank
from tern.example.output import Output
from tern.example.problem import Problem
from tern.example.single import make_inputs


class Odd:
    """Of the user's, and not nice."""

    def __repr__(self):
        raise RuntimeError("no")

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


VALUES = [None, 0, -1, 1, 2**70, 1.5, float("nan"), True, "", "x", "x\0y", "\ud800", b"x", [], [[]],
          (), {}, {"a": 1}, {1: 2}, set(), {1}, object(), Odd(), [None], ["x"], ["x", "x"], [{}],
          [1, 2], [Odd()], lambda: 1, lambda n: n, lambda n: "x", range(3), np.arange(3),
          np.float32(2),
          np.array(3), np.array(["a"]), np.array([None]), np.array([]), 10**400, "a" * 10_000,
          SimpleNamespace(dtype="float32", shape=(1,)), iter([1]), ("x", [1.0] * 4), [("x", None)],
          [("x", Odd())], [("x", [1.0, "2", 3, 4])], [(1, 2)], [("x", {"a": 1})], Exception("x")]


ATTRIBUTES = ("RTOL", "__outputs__", "TENSOR_ORDER", "ALL_CASES", "DEFAULT_CASE", "generate_inputs",
              "generate_distributed_inputs", "compute_golden", "y")


def places(value, path=()):
    """Every place of nested dicts and lists."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else (
        enumerate(value) if isinstance(value, list) else ())
    for key, one in items:
        yield from places(one, path + (key,))


def tables():
    made = {}
    exec(CONFIG, made)
    return {name: value for name, value in made.items() if name.isupper()}


@pytest.mark.parametrize("path", places(tables()), ids=str)
def test_any_value_in_any_field(tmp_path, monkeypatch, path):
    folder = Folder(tmp_path / "f")
    for value in VALUES:
        made = copy.deepcopy(tables())
        inner = made
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        module = SimpleNamespace(**made)
        monkeypatch.setattr(reading, "load_module", lambda *rest, module=module: module)
        try:
            load_config(folder.kernels, None, None)
        except Problem as problem:
            assert "\n" not in problem.sentence and problem.place.startswith(str(tmp_path))


@pytest.mark.parametrize("text", [GOLDEN, SINGLE_GOLDEN], ids=["distributed", "single"])
def test_any_value_from_a_golden(tmp_path, text):
    folder = Folder(tmp_path / "f", CONFIG, text)
    table = load_config(folder.kernels, None, None).distributed
    with Workspace(None) as space:
        for value, name in itertools.product(VALUES, ATTRIBUTES):
            golden = Golden(folder.golden, None)
            module = golden._module
            setattr(module, name, value)
            if name.startswith("generate"):
                setattr(module, name, lambda *rest: value)
            if name == "y":
                module.compute_golden = lambda tensors, params: tensors.update(y=value)
            for call in (lambda: golden._tolerance("RTOL"), lambda: cases_of(golden, None, False),
                         lambda: inputs_of_rank(golden, table, 0),
                         lambda: expected_outputs(golden, table, lambda rank, output: None),
                         lambda: make_inputs(golden, {"n": 4}, "host_build_graph", space,
                                             Output("error", io.StringIO()))):
                try:
                    call()
                except Problem as problem:
                    assert "\n" not in problem.sentence and problem.place
