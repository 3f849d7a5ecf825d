# SPDX-License-Identifier: Apache-2.0
"""Which elements match: tolerances, NaN, infinities, and whole numbers that no float has."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tern.example.data import read_output
from tern.example.dtypes import CANARIES, SIZES, storage, to_array
from tern.example.verify import compare

INF, NAN = math.inf, math.nan
BIG = 2**63 - 1

# dtype, got, expected, rtol, atol, indexes that do not match
CASES = [
    ("float32", [1, 2, 3], [1, 2, 3], 0, 0, []),
    ("float32", [1, 2.5, 3], [1, 2, 3], 0, 0, [1]),
    ("float32", [0.1], [0.1], 0, 0, []),
    ("float32", [0.0], [-0.0], 0, 0, []),
    ("float32", [NAN, 1], [1, NAN], 1, 1, [0, 1]),
    ("float32", [NAN], [NAN], 0, 0, []),
    ("float32", [INF, -INF, INF, 1, INF], [INF, -INF, -INF, INF, 1], 1e-5, 1e-5, [2, 3, 4]),
    ("float32", [NAN, INF], [INF, NAN], 1e9, 1e9, [0, 1]),
    ("float64", [1 + 1e-5, 1 + 3e-5], [1, 1], 1e-5, 1e-5, [1]),
    ("float64", [1e308, -1e308], [-1e308, 1e308], 0.5, 0, [0, 1]),
    ("float16", [1000.5, 1001], [1000, 1000], 0, 0.5, [1]),
    ("float16", [65504.0], [-65504.0], 0, 65504, [0]),
    ("bfloat16", [1, 1.0078125], [1, 1], 0, 0, [1]),
    ("bfloat16", [1, 1.0078125], [1, 1], 0.01, 0, []),
    ("int64", [BIG, BIG - 1], [BIG, BIG], 0, 0, [1]),
    ("int64", [BIG - 1, BIG - 2], [BIG, BIG], 0, 1, [1]),
    ("int64", [-BIG - 1, BIG], [BIG, -BIG - 1], 0, 1e18, [0, 1]),
    ("int64", [-BIG - 1], [BIG], 0, 2.0**65, []),
    ("uint64", [2**64 - 1, 0], [2**64 - 2, 2], 0, 1, [1]),
    ("uint64", [2**53 + 1], [2**53], 0, 0, [0]),
    ("int32", [100, 111], [100, 100], 0.1, 0, [1]),
    ("int8", [-128, 127], [127, -128], 0, 254, [0, 1]),
    ("uint8", [0, 255], [255, 0], 0, 255, []),
]


@pytest.mark.parametrize("dtype, got, expected, rtol, atol, wrong", CASES)
def test_compare(dtype, got, expected, rtol, atol, wrong):
    result = compare(to_array(got, dtype, ""), to_array(expected, dtype, ""), dtype, rtol, atol, 99)
    assert [index for index, _, _ in result.first] == wrong
    assert result.mismatches == len(wrong) and result.elements == len(got)
    assert result.passed == (not wrong)


def test_elements_are_shown_as_their_dtype_prints_them():
    result = compare(to_array([0.1, 2, NAN], "float32", ""), to_array([0.3, 2, 1], "float32", ""),
                     "float32", 0, 0, 1)
    assert result.first == [(0, "0.1", "0.3")] and result.mismatches == 2
    assert result.sample == ["0.1", "2.0", "nan"]
    assert math.isclose(result.largest_error, 0.2, rel_tol=1e-6)


def test_lengths():
    result = compare(np.zeros(3, np.float32), np.zeros(4, np.float32), "float32", 0, 0, 3)
    assert not result.passed and result.reason == "3 elements instead of 4"


@pytest.mark.parametrize("dtype", SIZES)
def test_random_numbers_as_a_loop_sees_them(dtype):
    generator = np.random.default_rng(7)
    got = generator.integers(0, 100, 1000).astype(storage(dtype))
    expected = generator.integers(0, 100, 1000).astype(storage(dtype))
    if dtype == "bfloat16":
        got, expected = (to_array(part, dtype, "") for part in (got, expected))
    result = compare(got, expected, dtype, 0.25, 3.5, 10_000)
    values = [part.astype(float) for part in (got, expected)]
    if dtype == "bfloat16":
        values = [(part.astype(np.uint32) << 16).view(np.float32) for part in (got, expected)]
    pairs = zip(*(part.tolist() for part in values))
    wrong = [i for i, (a, e) in enumerate(pairs) if not abs(a - e) <= 3.5 + 0.25 * abs(e)]
    assert [index for index, _, _ in result.first] == wrong


def test_files_of_ranks(tmp_path):
    path = tmp_path / "y.bin"
    assert read_output(path, "int16", 2) == "the rank has saved nothing"
    path.write_bytes(b"\1\0\2")
    assert read_output(path, "int16", 2) == "the rank has saved 3 bytes instead of 4"
    path.write_bytes(b"\1\0\2\0")
    assert read_output(path, "int16", 2).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", CANARIES)
def test_a_nan_that_no_kernel_wrote(dtype):
    source = Path(__file__).resolve().parents[2] / "cli" / "example" / "rank_words.c"
    assert f'{{"{dtype}", {SIZES[dtype][0]}, 0x{CANARIES[dtype]:x},' in source.read_text()
    saved = np.array([CANARIES[dtype]] * 2, f"uint{8 * SIZES[dtype][0]}").view(storage(dtype))
    expected = to_array([math.nan] * 2, dtype, "here")
    result = compare(saved, expected, dtype, 0, 0, 3)
    assert result.mismatches == 2
    assert result.first[1] == (1, "nan (no kernel wrote it)", "nan")
    assert compare(expected, expected, dtype, 0, 0, 3).passed
