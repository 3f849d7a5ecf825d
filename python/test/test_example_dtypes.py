# SPDX-License-Identifier: Apache-2.0
"""Values of a golden as arrays of a buffer's dtype: what is kept, and what is refused by its
index."""

from __future__ import annotations

import array
import math

import numpy as np
import pytest

from tern.example.dtypes import SIZES, is_scalar, limits, numbers, storage, to_array
from tern.example.problem import Problem


@pytest.mark.parametrize("dtype", SIZES)
def test_small_numbers_of_every_form(dtype):
    forms = [[1, 2, 3], (1, 2, 3), range(1, 4), [[1, 2], [3]], [1.0, 2.0, 3.0],
             array.array("i", [1, 2, 3]), np.array([1, 2, 3], np.int64),
             np.array([1, 2, 3], np.float64), np.array([[1], [2], [3]], np.uint8),
             np.array([1, 2, 3], object), [np.float32(1), np.int8(2), 3], memoryview(b"\1\2\3"),
             np.array([1, 9, 2, 9, 3, 9], np.int16)[::2]]
    for form in forms:
        made = to_array(form, dtype, "here")
        assert made.dtype == storage(dtype) and made.nbytes == 3 * SIZES[dtype][0]
        assert numbers(made, dtype).tolist() == [1, 2, 3]


@pytest.mark.parametrize("dtype", [name for name in SIZES if "float" not in name])
def test_limits_of_integers(dtype):
    low, high = limits(dtype)
    assert to_array([low, high], dtype, "here").tolist() == [low, high]
    assert to_array(np.array([low, high], dtype), dtype, "here").tolist() == [low, high]
    for wrong in (low - 1, high + 1, float(high + 1), 0.5, math.nan, math.inf):
        forms = [[0, wrong]]
        if not isinstance(wrong, int):
            forms.append(np.array([0, wrong]))
        elif abs(wrong) < 2**63:
            forms.append(np.array([0, wrong], np.int64))
        for form in forms:
            with pytest.raises(Problem) as caught:
                to_array(form, dtype, "here")
            assert caught.value.sentence == (
                f"element 1 is {wrong!r}, which {dtype} cannot hold: whole numbers from {low} to "
                f"{high}")


def test_floats():
    for dtype, most in (("float16", 65504.0), ("float32", 3.4028234663852886e38)):
        assert to_array([most, -most], dtype, "here").tolist() == [most, -most]
        with pytest.raises(Problem, match="^here: element 2 is .*cannot hold$"):
            to_array([0, 1, most * 1.1], dtype, "here")
        special = to_array([math.nan, math.inf, -math.inf], dtype, "here").tolist()
        assert math.isnan(special[0]) and special[1:] == [math.inf, -math.inf]
    with pytest.raises(Problem, match="element 0 is .*float64 cannot hold"):
        to_array([10**400], "float64", "here")


def test_bfloat16_rounds_to_even():
    made = to_array([1.0, 1.00390625, 1.01171875, -2.5, 3.3e38], "bfloat16", "here")
    assert numbers(made, "bfloat16").tolist()[:4] == [1.0, 1.0, 1.015625, -2.5]
    assert math.isnan(numbers(to_array([math.nan], "bfloat16", "here"), "bfloat16")[0])
    with pytest.raises(Problem, match="element 0 .*bfloat16 cannot hold"):
        to_array([3.4e38], "bfloat16", "here")


@pytest.mark.parametrize("value, sentence", [
    ("1234", "'1234' is no list of numbers"),
    (b"1234", "b'1234' is no list of numbers"),
    ({1: 2}, "{1: 2} is no list of numbers"),
    (None, "None is no list of numbers"),
    ([1, None], "element 1 is None, which is no number"),
    ([[1, 2], ["3"]], "element 2 is '3', which is no number"),
    ([1, 2j], "element 1 is 2j, which is no number"),
    (np.array([1j]), "its elements are complex128, which are no numbers"),
    (np.array(["a"]), "its elements are <U1, which are no numbers"),
])
def test_what_is_no_number(value, sentence):
    for dtype in ("float32", "int32"):
        with pytest.raises(Problem) as caught:
            to_array(value, dtype, "here")
        assert caught.value.sentence == sentence


class Tensor:
    """As much of a tensor of torch as is looked at."""

    def __init__(self, values, dtype="torch.float32"):
        self._values, self.dtype = np.array(values, np.float32), dtype

    def detach(self):
        return self

    def cpu(self):
        return self

    def float(self):
        return Tensor(self._values)

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self._values


def test_tensors_of_torch():
    assert to_array(Tensor([1, 2]), "int8", "here").tolist() == [1, 2]
    made = to_array(Tensor([1, 2.5], "torch.bfloat16"), "bfloat16", "here")
    assert numbers(made, "bfloat16").tolist() == [1, 2.5]


def test_scalars():
    import ctypes
    for scalar in (1, 1.5, True, np.float32(2), np.int64(3), ctypes.c_int(4), ctypes.c_double(5)):
        assert is_scalar(scalar)
    for other in ([1], (1,), np.array([1]), np.array(1), "1", None, Tensor([1])):
        assert not is_scalar(other)


def test_arrays_with_operations_of_their_own():
    for values in (np.matrix([[1, 2], [3, 4]]), np.ma.masked_array([1, 2, 3, 4], [0, 0, 0, 0])):
        made = to_array(values, "float32", "p")
        assert type(made) is np.ndarray and made.tolist() == [1, 2, 3, 4]
