# SPDX-License-Identifier: Apache-2.0
"""A collective call as data: tern_coll of include/tern/coll.h, filled from arrays that were checked.

What each kind takes is asked of the library's table (include/tern/kind.h), so a kind is described in
one place only.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import numpy as np

from . import _dtypes
from ._errors import argument_error
from ._library import lib
from ._memory import operating

NONE, ONE, ALL = range(3)  # tern_kind_extent
ROOT_NONE, ROOT_FROM, ROOT_TO = range(3)  # tern_kind_root
_REDUCE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def _watch(function: Any, raised: List[BaseException]) -> None:
    """A handler of a signal may raise where a function that C calls begins or ends, and nothing in
    the function catches that: ctypes goes on as if it had returned, and tells sys.unraisablehook."""
    function.tern_raised = raised
    before = sys.unraisablehook
    if hasattr(before, "tern_watches"):
        return

    def told(what: Any) -> None:
        raised = getattr(what.object, "tern_raised", None)
        if raised is None:
            before(what)
            return
        operating.discard(threading.get_ident())
        raised.append(what.exc_value if what.exc_value is not None else what.exc_type())

    told.tern_watches = True
    sys.unraisablehook = told


class Coll(ctypes.Structure):  # tern_coll
    _fields_ = [
        ("kind", ctypes.c_int),
        ("in_", ctypes.c_void_p),
        ("out", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("dtype", ctypes.c_int),
        ("op", ctypes.c_int),
        ("root", ctypes.c_int),
        ("in_counts", ctypes.c_void_p),
        ("in_offsets", ctypes.c_void_p),
        ("out_counts", ctypes.c_void_p),
        ("out_offsets", ctypes.c_void_p),
        ("function", ctypes.c_void_p),
        ("function_arg", ctypes.c_void_p),
        ("order", ctypes.c_int),
        ("algorithm", ctypes.c_char_p),
        ("ins", ctypes.c_void_p),
        ("outs", ctypes.c_void_p),
        ("tag", ctypes.c_uint64),
        ("received", ctypes.c_void_p),
        ("timeout_ns", ctypes.c_int64),
    ]


class _Received(ctypes.Structure):  # tern_received
    _fields_ = [("from_", ctypes.c_int), ("count", ctypes.c_size_t), ("tag", ctypes.c_uint64)]


class Received(NamedTuple):
    """What a recv from any rank, or of at most so much, has got: `count` elements from the beginning
    of `out`, sent by rank `source`."""

    out: np.ndarray
    source: int
    count: int


ANY_RANK = -1  # TERN_RANK_ANY


class _Facts(ctypes.Structure):  # tern_kind_facts
    _fields_ = [("word", ctypes.c_char_p), ("plan", ctypes.c_int), ("in_", ctypes.c_int),
                ("out", ctypes.c_int), ("root", ctypes.c_int), ("sums", ctypes.c_bool),
                ("counts", ctypes.c_bool), ("crossings", ctypes.c_int)]


class Kind(NamedTuple):
    """The facts of a kind: what the buffers hold (NONE, ONE, ALL shares), and who has them."""

    number: int
    word: str
    in_: int
    out: int
    root: int
    sums: bool
    counts: bool


@functools.lru_cache(maxsize=None)
def kinds() -> Dict[str, Kind]:
    """The kinds of the library, by word."""
    table: Dict[str, Kind] = {}
    number = 0
    while lib().tern_coll_kind_facts(number):
        facts = _Facts.from_address(lib().tern_coll_kind_facts(number))
        word = facts.word.decode()
        table[word] = Kind(number, word, facts.in_, facts.out, facts.root, facts.sums, facts.counts)
        number += 1
    return table


class Call:
    """A call that was checked: its tern_coll, and all that this points to."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.coll = Coll(kind=kind.number)
        self.reference = ctypes.byref(self.coll)
        self.result: Optional[np.ndarray] = None
        self.kept: list = []  # arrays of counts, callbacks, buffers
        self.received: Optional[_Received] = None
        self.raised: List[BaseException] = []  # by the caller's own operation

    def keep_counts(self, field: str, what: str, counts: Optional[Sequence[int]],
                    ranks: int) -> Optional[np.ndarray]:
        """Points a field to counts or offsets, one for each rank."""
        if counts is None:
            return None
        try:
            row = np.array([operator.index(count) for count in counts], dtype=np.int64)
        except (TypeError, ValueError, OverflowError) as error:
            raise argument_error(f"{self.kind.word}: {what} are no list of numbers: "
                                 f"{error}") from None
        if row.shape != (ranks,):
            raise argument_error(f"{self.kind.word}: {what} has shape {row.shape}; it has one number "
                                 f"for each of {ranks} ranks")
        if (row < 0).any():
            raise argument_error(f"{self.kind.word}: {what} of rank {int((row < 0).argmax())} is "
                                 f"{int(row.min())}; it is 0 or more")
        self.kept.append(row)
        setattr(self.coll, field, row.ctypes.data)
        return row

    def keep_function(self, function: Callable, dtype: np.dtype) -> None:
        """The caller's own operation: function(accumulator, source) changes the first array."""

        raised = self.raised  # not self: what is kept goes with it, at once

        def reduce(accumulator: int, source: int, count: int, _: Any) -> None:
            try:
                operating.add(threading.get_ident())
                if not raised:
                    there = _array_at(accumulator, count, dtype)
                    # Copies: the function may keep them, and the memory is the library's.
                    result, other = there.copy(), _array_at(source, count, dtype).copy()
                    other.flags.writeable = False
                    if isinstance(function, np.ufunc):
                        function(result, other, out=result)
                        returned = None
                    else:
                        returned = function(result, other)
                    if returned is not None and returned is not result:
                        raise argument_error("op has returned something; it changes its first array")
                    there[...] = result
            except BaseException as error:  # raised again when the call has ended
                raised.append(error)
            finally:
                operating.discard(threading.get_ident())

        _watch(reduce, raised)
        callback = _REDUCE(reduce)
        self.kept.append(callback)
        self.coll.function = ctypes.cast(callback, ctypes.c_void_p)

    def finish(self) -> Optional[np.ndarray]:
        """What the call returns, once it has ended."""
        if self.raised:
            raised = self.raised[0]
            self.raised.clear()
            raise raised
        if self.received is not None:
            return Received(self.result, self.received.from_, self.received.count)
        return self.result

    def keep_received(self) -> None:
        self.received = _Received()
        self.coll.received = ctypes.addressof(self.received)

    def keep_list(self, side: str, arrays: Sequence[np.ndarray], ranks: int) -> List[int]:
        """Points `ins` or `outs` to the arrays of a list, one for each rank; their lengths."""
        where = f"{self.kind.word}: {'x' if side == 'ins' else 'out'}"
        extent = self.kind.in_ if side == "ins" else self.kind.out
        if extent != ALL:
            raise argument_error(f"{where} is a list; lists are for shares of all ranks")
        if len(arrays) != ranks:
            raise argument_error(f"{where} is a list of {len(arrays)}; it has one array for each of "
                                 f"{ranks} ranks")
        found = [_dtypes.check_array(f"{where}[{i}]", array, side == "outs")
                 for i, array in enumerate(arrays)]
        for i, array in enumerate(arrays):
            if array.dtype != arrays[0].dtype:
                raise argument_error(f"{where}[{i}] has dtype {array.dtype}, {where}[0] "
                                     f"{arrays[0].dtype}; they are the same")
        row = (ctypes.c_void_p * ranks)(*(address for address, _ in found))
        self.kept += [row, *arrays]
        setattr(self.coll, side, ctypes.addressof(row))
        return [elements for _, elements in found]

    def keep_shares(self, side: str, arrays: Sequence[np.ndarray], ranks: int) -> int:
        """The same where all have one length; the elements of all together."""
        lengths = self.keep_list(side, arrays, ranks)
        if len(set(lengths)) != 1:
            raise argument_error(f"{self.kind.word}: {'x' if side == 'ins' else 'out'} is a list of "
                                 f"arrays of {lengths} elements; they have the same")
        return lengths[0] * ranks


def _array_at(address: int, count: int, dtype: np.dtype) -> np.ndarray:
    data = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(data, dtype=dtype)


def _first_axis(kind: Kind, x: np.ndarray, ranks: int, root: bool) -> tuple:
    """The shape of an output that the caller has not given."""
    if kind.in_ == kind.out:
        return x.shape
    if x.ndim == 0:
        if kind.out == ALL:
            return (ranks,)
        raise argument_error(f"{kind.word}: x has no axis that {ranks} ranks could share")
    if kind.out == ALL:
        return (x.shape[0] * ranks, *x.shape[1:])
    if x.shape[0] % ranks:
        raise argument_error(f"{kind.word}: the first axis of x has length {x.shape[0]}, which is no "
                             f"multiple of {ranks} ranks")
    return (x.shape[0] // ranks, *x.shape[1:])


def is_list(buffer: Any) -> bool:
    """Whether a buffer is given as one array for each rank."""
    return isinstance(buffer, (list, tuple))


def check_root(kind: Kind, root: Any, ranks: int) -> None:
    if kind.word == "recv" and root == ANY_RANK:
        return
    if kind.root != ROOT_NONE and not (isinstance(root, (int, np.integer)) and 0 <= root < ranks):
        what = "the other rank" if kind.word in ("send", "recv") else "root"
        raise argument_error(f"{kind.word}: {what} is {root!r}; the communicator has ranks "
                             f"0..{ranks - 1}")


def describe(kind: Kind, rank: int, ranks: int, x: Optional[np.ndarray],
             out: Optional[np.ndarray], op: Any, root: int, dtype: Any) -> Call:
    """A call of a kind without counts, with its output made where the caller has given none."""
    call = Call(kind)
    where = kind.word
    check_root(kind, root, ranks)
    has_in = kind.in_ != NONE and (kind.root != ROOT_FROM or rank == root)
    has_out = kind.out != NONE and (kind.root != ROOT_TO or rank == root)
    address = elements = None
    if has_in and is_list(x):
        elements = call.keep_shares("ins", x, ranks)
        x = x[0]
        if has_out and out is None:
            shape = x.shape if kind.out != ALL else (ranks, *x.shape)
            out = np.empty(shape, x.dtype)
    elif has_in:
        address, elements = _dtypes.check_array(f"{where}: x", x)
        call.coll.in_ = address
        call.kept.append(x)
        if has_out and out is None:
            out = np.empty(_first_axis(kind, x, ranks, rank == root), x.dtype)
    if has_out:
        if out is None:
            raise argument_error(f"{where}: out is missing; only the root's could be made for it")
        call.result = out
        if is_list(out):
            out_elements = call.keep_shares("outs", out, ranks)
            out = out[0]
        else:
            out_address, out_elements = _dtypes.check_array(f"{where}: out", out, writable=True)
            call.coll.out = out_address
            call.kept.append(out)
        if has_in and out.dtype != x.dtype:
            raise argument_error(f"{where}: x has dtype {x.dtype}, out {out.dtype}; they are the same")
    shared = x if has_in else out
    if shared is not None:
        call.coll.dtype = _dtypes.dtype_number(where, shared.dtype, dtype, kind.sums)
    _count(call, ranks, elements if has_in else None, out_elements if has_out else None)
    call.coll.root = int(root) if kind.root != ROOT_NONE else 0
    if kind.sums:
        describe_operation(call, op, shared)
    return call


def describe_operation(call: Call, op: Any, array: np.ndarray) -> None:
    where = call.kind.word
    call.coll.op = _dtypes.operation_number(where, op)
    if callable(op):
        call.keep_function(op, array.dtype)
    size = lib().tern_reduce_element_bytes(call.coll.dtype, call.coll.op)
    if size == 0:
        raise argument_error(f"{where}: {op} of {array.dtype} does not exist")
    if size != array.dtype.itemsize:
        if array.dtype.names is None:
            raise argument_error(
                f"{where}: {op} takes pairs, dtype([('value', '{array.dtype}'), ('index', 'i4')], "
                f"align=True) of {size} bytes; the array has {array.dtype}")
        raise argument_error(f"{where}: {op} of {array.dtype} does not exist: an element has "
                             f"{array.dtype.itemsize} bytes, the operation's {size}")
    call.coll.op = _dtypes.operation_number(where, op)


def _count(call: Call, ranks: int, in_elements: Optional[int], out_elements: Optional[int]) -> None:
    """The count of the call, from the elements of its buffers, which must fit each other."""
    kind = call.kind
    shares = ALL in (kind.in_, kind.out)
    per_rank = []
    for name, extent, elements in (("x", kind.in_, in_elements), ("out", kind.out, out_elements)):
        if elements is None:
            continue
        if shares and extent == ALL:
            if elements % ranks:
                raise argument_error(f"{kind.word}: {name} has {elements} elements, which is no "
                                     f"multiple of {ranks} ranks")
            elements //= ranks
        per_rank.append(elements)
    if len(per_rank) == 2 and per_rank[0] != per_rank[1]:
        factor = [f"{ranks} * " if shares and extent == ALL else "" for extent in (kind.in_, kind.out)]
        raise argument_error(f"{kind.word}: x has {in_elements} elements ({factor[0]}{per_rank[0]}), "
                             f"out {out_elements} ({factor[1]}{per_rank[1]}); the shares must be "
                             "alike")
    call.coll.count = per_rank[0] if per_rank else 0
