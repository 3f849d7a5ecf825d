# SPDX-License-Identifier: Apache-2.0
"""The collective calls with a count for each rank, described as data: counts and offsets in elements,
offsets None when the shares lie packed in rank order."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import numpy as np

from . import _dtypes
from ._coll import (ALL, ROOT_FROM, ROOT_NONE, ROOT_TO, Call, Kind, check_root, describe_operation,
                    is_list)
from ._errors import argument_error

Counts = Optional[Sequence[int]]


def _reach(counts: np.ndarray, offsets: Optional[np.ndarray]) -> int:
    """The elements that a buffer needs."""
    if offsets is None:
        return sum(map(int, counts))
    return max((int(at) + int(count) for at, count in zip(offsets, counts) if count), default=0)


def _list(call: Call, name: str, arrays: Sequence[np.ndarray], counts: np.ndarray) -> np.ndarray:
    """A buffer that is a list; its first array, for its dtype."""
    lengths = call.keep_list("outs" if name == "out" else "ins", arrays, len(counts))
    for i, (length, count) in enumerate(zip(lengths, counts)):
        if length < count:
            raise argument_error(f"{call.kind.word}: {name}[{i}] has {length} elements; the counts "
                                 f"need {count}")
    return arrays[0]


def _buffer(call: Call, name: str, array: np.ndarray, needed: int, exact: bool) -> None:
    where = f"{call.kind.word}: {name}"
    writable = name == "out"
    address, elements = _dtypes.check_array(where, array, writable)
    if exact and elements != needed:
        raise argument_error(f"{where} has {elements} elements; this rank's count is {needed}")
    if elements < needed:
        raise argument_error(f"{where} has {elements} elements; the counts need {needed}")
    setattr(call.coll, "out" if writable else "in_", address)
    call.kept.append(array)
    if writable:
        call.result = array


def describe_v(kind: Kind, rank: int, ranks: int, x: Optional[np.ndarray],
               out: Optional[np.ndarray], counts: dict, op: Any, root: int, dtype: Any) -> Call:
    """A call of a (v) kind. counts: in_counts, in_offsets, out_counts, out_offsets, where the kind
    has them on this rank. A buffer of all shares may be longer than needed."""
    call = Call(kind)
    where = kind.word
    check_root(kind, root, ranks)
    rows = {name: call.keep_counts(name, name, counts.get(name), ranks)
            for name in ("in_counts", "in_offsets", "out_counts", "out_offsets")}
    has_in = kind.root != ROOT_FROM or rank == root
    has_out = kind.root != ROOT_TO or rank == root
    for side, extent, has in (("in", kind.in_, has_in), ("out", kind.out, has_out)):
        if extent == ALL and has and rows[f"{side}_counts"] is None:
            raise argument_error(f"{where}: counts are missing, one for each of {ranks} ranks")
    own = _own_count(call, rank, x, out, rows, (has_in, has_out))
    if has_in:
        needed = _reach(rows["in_counts"], rows["in_offsets"]) if kind.in_ == ALL else own
        if kind.in_ == ALL and is_list(x):
            x = _list(call, "x", x, rows["in_counts"])
        else:
            _buffer(call, "x", x, needed, kind.in_ != ALL)
    if has_out:
        needed = _reach(rows["out_counts"], rows["out_offsets"]) if kind.out == ALL else own
        if out is None and has_in:
            out = np.zeros((needed,), x.dtype)
        if out is None:
            raise argument_error(f"{where}: out is missing; only the root's could be made for it")
        if kind.out == ALL and is_list(out):
            call.result = out
            out = _list(call, "out", out, rows["out_counts"])
        else:
            _buffer(call, "out", out, needed, kind.out != ALL)
    if has_in and has_out and x.dtype != out.dtype:
        raise argument_error(f"{where}: x has dtype {x.dtype}, out {out.dtype}; they are the same")
    shared = x if has_in else out
    call.coll.dtype = _dtypes.dtype_number(where, shared.dtype, dtype, kind.sums)
    call.coll.root = int(root) if kind.root != ROOT_NONE else 0
    if kind.sums:
        describe_operation(call, op, shared)
    return call


def _own_count(call: Call, rank: int, x: Any, out: Any, rows: dict, has: tuple) -> int:
    """The elements of this rank's share: of the counts where the rank has them, else of its array
    (gather_v, scatter_v), whose length is then the call's count."""
    kind = call.kind
    all_side = "in" if kind.in_ == ALL else "out"
    counts = rows[f"{all_side}_counts"]
    if kind.root == ROOT_NONE:
        return int(counts[rank])
    one = x if kind.in_ != ALL else out
    name = "x" if kind.in_ != ALL else "out"
    if one is None and counts is not None and name == "out":
        own = int(counts[rank])
    else:
        own = _dtypes.check_array(f"{kind.word}: {name}", one)[1]
    call.coll.count = own
    return own
