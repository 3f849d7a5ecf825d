# SPDX-License-Identifier: Apache-2.0
"""Goldens that use torch, where it is installed: tensors as inputs and outputs, of all dtypes and
forms that torch has, on one chip and on several. The ranks are fake_tern.py, which copies."""

from __future__ import annotations

import pytest

from example_fixtures import CONFIG, SINGLE_CONFIG, Folder
from tern.example.dtypes import is_scalar, numbers, to_array
from tern.example.problem import Problem

torch = pytest.importorskip("torch", reason="torch is not installed: apt-get install python3-torch")

FLOATS = {"float16": torch.float16, "bfloat16": torch.bfloat16, "float32": torch.float32,
          "float64": torch.float64}
WHOLE = {"int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64,
         "uint8": torch.uint8}


@pytest.mark.parametrize("name", [*FLOATS, *WHOLE])
def test_every_dtype(name):
    dtype = {**FLOATS, **WHOLE}[name]
    made = to_array(torch.tensor([[1, 2], [3, 100]], dtype=dtype), name, "here")
    assert numbers(made, name).tolist() == [1, 2, 3, 100]
    alone = [torch.tensor(value, dtype=dtype) for value in (1, 2, 100)]
    for to in ("float32", "int32", "bfloat16", name):
        assert numbers(to_array(alone, to, "here"), to).tolist() == [1, 2, 100]


def test_forms():
    grown = torch.arange(6.0).reshape(2, 3)
    for values, wanted in (
            (grown.t(), [0, 3, 1, 4, 2, 5]), (grown[:, 1:], [1, 2, 4, 5]), (grown[0, 1], [1]),
            (grown.expand(2, 2, 3)[:, 0], [0, 1, 2, 0, 1, 2]),
            (torch.nn.Parameter(torch.ones(2)), [1, 1]),
            ((grown + 1).requires_grad_()[1], [4, 5, 6]),
            (torch.tensor([1 + 2j]).conj().imag, [-2]), ([grown[0], grown[1]], [0, 1, 2, 3, 4, 5]),
            (torch.tensor([True, False]), [1, 0])):
        assert to_array(values, "float32", "here").tolist() == wanted
        assert to_array(values, "int64", "here").tolist() == wanted
        assert not is_scalar(values)


@pytest.mark.parametrize("values, sentence", [
    (torch.ones(3).to_sparse(), "it is a tensor that is no array: can't convert Sparse"),
    (torch.ones(2, device="meta"), "it is a tensor that is no array: "),
    (torch.tensor([1j]), "its elements are complex64, which are no numbers"),
    (torch.tensor([1.0, 0.5]), "element 1 is 0.5, which int32 cannot hold"),
    ([torch.tensor(1.0), torch.tensor(0.5)], "element 1 is 0.5, which int32 cannot hold"),
    (torch.tensor([1, 2**40]), "element 1 is 1099511627776, which int32 cannot hold"),
], ids=["sparse", "meta", "complex", "fraction", "fraction in a list", "large"])
def test_what_cannot_be(values, sentence):
    with pytest.raises(Problem) as caught:
        to_array(values, "int32", "here")
    assert caught.value.sentence.startswith(sentence)


DISTRIBUTED = """
import torch
RTOL = torch.tensor(1e-6)
ATOL = 0

def generate_distributed_inputs(rank, nranks, root):
    return [("x", torch.arange(4, dtype=torch.bfloat16) + rank)]

def compute_golden(tensors, params):
    RESULT
"""


@pytest.mark.parametrize("result", [
    'tensors["y"][:] = torch.arange(4.0) + params["rank"]',
    'tensors["y"] = torch.arange(4) + params["rank"]',
    'tensors["y"][:] = (torch.arange(4.0) + params["rank"]).tolist()',
    'tensors["y"][:] = torch.arange(4.0) + params["rank"] + 1',
])
def test_ranks(tmp_path, result):
    folder = Folder(tmp_path / "f", CONFIG, DISTRIBUTED.replace("RESULT", result))
    status, out, err = folder.run()
    wrong = result.endswith("+ 1")
    assert status == int(wrong) and out.count("VERIFY PASSED") == (0 if wrong else 2), out + err
    assert ("  rank 1 y[0]: got 1.0, expected 2.0" in out.splitlines()) == wrong


SINGLE = """
import ctypes
import torch
RTOL = ATOL = 0
__outputs__ = ["f"]

def generate_inputs(params):
    a = (torch.arange(6).reshape(2, 3) / 2).to(torch.DTYPE)
    return [("a", a), ("f", torch.zeros(2, 3, dtype=torch.DTYPE)), ("n", ctypes.c_int64(6))]

def compute_golden(tensors, params):
    assert isinstance(tensors["a"], torch.Tensor) and tensors["f"].shape == (2, 3)
    RESULT
"""


@pytest.mark.parametrize("dtype, result, right", [
    ("bfloat16", 'tensors["f"][:] = tensors["a"]', True),
    ("float16", 'tensors["f"] = tensors["a"].clone().requires_grad_()', True),
    ("float32", 'tensors["f"].copy_(tensors["a"])', True),
    ("float64", 'tensors["f"][:] = tensors["a"] + 1', False),
])
def test_one_chip(tmp_path, dtype, result, right):
    golden = SINGLE.replace("DTYPE", dtype).replace("RESULT", result)
    status, out, err = Folder(tmp_path / "f", SINGLE_CONFIG, golden).run()
    assert status == int(not right), out + err
    assert f"Comparing f: shape=(2, 3), dtype={dtype}" in out
    assert ("  f: PASS (6/6 elements matched)" in out) == right
    assert ("  f[1]: got 0.5, expected 1.5" in out.splitlines()) != right


def test_an_error_of_torch_has_its_line(tmp_path):
    folder = Folder(tmp_path / "f", SINGLE_CONFIG, SINGLE.replace("DTYPE", "float32").replace(
        "RESULT", 'tensors["f"][:] = torch.ones(5)'))
    status, out, err = folder.run()
    line = 1 + folder.golden.read_text().splitlines().index('    tensors["f"][:] = torch.ones(5)')
    assert status == 1 and f"line {line}" in err
    assert "RuntimeError" in err and "must match the existing size" in err
