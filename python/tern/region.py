# SPDX-License-Identifier: Apache-2.0
"""Regions: parts of arrays as tasks name them (include/tern/region.h). A kernel gets the address of
a tern_region, of which tern_region_data() is the first element."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from . import _dtypes, _enums, _errors, _layouts
from ._library import lib
from ._memory import as_bytes

DIMS_MAX = _layouts.REGION_DIMS_MAX


def _number(dtype: np.dtype, said: Any = None) -> int:
    """The number of an element type in regions, which have no f64."""
    word = lib().tern_dtype_name(_dtypes.dtype_number("region", dtype, said)).decode()
    return _enums.number("tern_region_dtype", word, "region: dtype")


def _numbers(values: Sequence[int]) -> "ctypes.Array":
    return _layouts.array_of(ctypes.c_uint32, values, "region: a length or offset")


def _root_of(array: np.ndarray) -> np.ndarray:
    """The contiguous array that this one is a view of, so that views of it are compared as such."""
    root = array
    while isinstance(root.base, np.ndarray) and root.base.dtype == array.dtype and (
            root.base.flags.c_contiguous):
        root = root.base
    return root


class Region:
    """A part of an array: what In, InOut and OutTo make of an array, or what a task's Out became.

    of: an array of 1 to 5 dimensions of a dtype that chips have (not f64); strides are kept, and
    slices of one array are known to be parts of it. dtype "bf16" for bits in uint16. The region
    keeps its array. `raw` is the tern_region.
    """

    def __init__(self, of: np.ndarray, dtype: Any = None) -> None:
        if not isinstance(of, np.ndarray) or not 1 <= of.ndim <= DIMS_MAX:
            what = f"has {of.ndim} dimensions" if isinstance(of, np.ndarray) else (
                f"is of type {type(of).__name__}")
            raise _errors.argument_error(f"region: the array {what}; it is an array of NumPy of 1 "
                                         f"to {DIMS_MAX} dimensions")
        number = _number(of.dtype, dtype)
        if any(stride < 0 or stride % of.itemsize for stride in of.strides):
            raise _errors.argument_error(f"region: strides {of.strides} of elements of "
                                         f"{of.itemsize} bytes; a region goes forwards, in whole "
                                         "elements")
        self.array = of
        self.raw = _layouts.Region()
        root = of if of.flags.c_contiguous and of.base is None else _root_of(of)
        flat = root.size if root.flags.c_contiguous else 0
        start = (of.ctypes.data - root.ctypes.data) // of.itemsize if flat else 0
        inside = self._offsets(of, root, start) if flat else None
        if inside is not None:
            self._make(root.ctypes.data, root.shape, number)
            if inside != (0,) * of.ndim or of.shape != root.shape:
                view = _layouts.Region()
                _errors.check(lib().tern_region_view(ctypes.byref(self.raw), _numbers(of.shape),
                                                     _numbers(inside), ctypes.byref(view)))
                self.raw = view
        elif of.flags.c_contiguous:
            self._make(of.ctypes.data, of.shape, number)
        else:
            self._by_strides(root if flat else of, start, of, number)

    def _make(self, address: int, shape: Sequence[int], number: int) -> None:
        _errors.check(lib().tern_region_make(ctypes.byref(self.raw), address, _numbers(shape),
                                             len(shape), number))

    @staticmethod
    def _offsets(of: np.ndarray, root: np.ndarray, start: int) -> Optional[Tuple[int, ...]]:
        """Where a view begins in its array, when it is a box of it; None for any other."""
        if root.ndim != of.ndim or of.size == 0 or any(
                mine != other and length > 1
                for mine, other, length in zip(of.strides, root.strides, of.shape)):
            return None
        offsets = np.unravel_index(start, root.shape)
        fits = all(o + n <= whole for o, n, whole in zip(offsets, of.shape, root.shape))
        return tuple(int(o) for o in offsets) if fits else None

    def _by_strides(self, root: np.ndarray, start: int, of: np.ndarray, number: int) -> None:
        """Any other view: elements of the root's memory, a stride for each dimension."""
        reach = sum((n - 1) * s for n, s in zip(of.shape, of.strides)) if of.size else 0
        size = root.nbytes if root is not of else reach + of.itemsize
        self._make(root.ctypes.data, of.shape, number)
        self.raw.buffer_bytes, self.raw.start, self.raw.whole = size, start, 0
        for i, stride in enumerate(of.strides):
            self.raw.stride[i] = _layouts.within(ctypes.c_uint32, stride // of.itemsize,
                                                 "region: a stride")

    @classmethod
    def _of_raw(cls, raw: _layouts.Region, keeps: Any = None) -> "Region":
        """Of a tern_region that the library filled in; `keeps` is what its memory needs."""
        made = cls.__new__(cls)
        made.raw, made.array = raw, keeps
        return made

    @property
    def shape(self) -> Tuple[int, ...]:
        """Elements along each axis."""
        return tuple(self.raw.shape[:self.raw.ndims])

    @property
    def dtype(self) -> str:
        """The library's word for the elements."""
        return _enums.word("tern_region_dtype", self.raw.dtype)

    def _changed(self, call: Any, *arguments: Any) -> "Region":
        result = _layouts.Region()
        _errors.check(call(ctypes.byref(self.raw), *arguments, ctypes.byref(result)))
        return Region._of_raw(result, self.array)

    def view(self, offset: Sequence[int], shape: Sequence[int]) -> "Region":
        """The part that begins at `offset` and has `shape`; it sticks out nowhere."""
        if len(offset) != self.raw.ndims or len(shape) != self.raw.ndims:
            raise _errors.argument_error(f"view: offset and shape have {self.raw.ndims} numbers, "
                                         "as the region has dimensions")
        return self._changed(lib().tern_region_view, _numbers(shape), _numbers(offset))

    def reshape(self, shape: Sequence[int]) -> "Region":
        """The same elements in the same order in another shape; of a contiguous region."""
        return self._changed(lib().tern_region_reshape, _numbers(shape), len(shape))

    def transpose(self, one: int = 0, other: int = 1) -> "Region":
        """With two dimensions exchanged."""
        return self._changed(lib().tern_region_transpose, one, other)

    def __repr__(self) -> str:
        return f"<tern.Region {self.dtype}{list(self.shape)}>"


def array_at(address: int, keeps: Any = None) -> np.ndarray:
    """The array of a tern_region at an address: what kernels in Python get of it."""
    raw = _layouts.Region.from_address(address)
    dtype = _dtypes.numpy_dtype(_enums.word("tern_region_dtype", raw.dtype))
    data = as_bytes(keeps, raw.address, raw.buffer_bytes).view(dtype)[raw.start:]
    strides = [stride * dtype.itemsize for stride in raw.stride[:raw.ndims]]
    return np.lib.stride_tricks.as_strided(data, tuple(raw.shape[:raw.ndims]), strides)
