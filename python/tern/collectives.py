# SPDX-License-Identifier: Apache-2.0
"""Every collective call on arrays. One class describes them; what becomes of a described call is
the business of who inherits: Comm runs it, Comm.start begins it, Comm.prepare makes it persistent.

With n ranks, lengths in elements (shapes are free as long as the lengths fit):

    kind             x                 out                in place
    all_reduce       count             count              out=x
    reduce_scatter   n * count         count              out=x[rank * count :][:count]
    all_gather       count             n * count          x=out[rank * count :][:count]
    broadcast        count on all ranks, changed there
    reduce           count             count, root only   out=x on the root
    gather           count             n * count, root    x=out[rank * count :][:count] there
    scatter          n * count, root   count              out=x[rank * count :][:count] there
    all_to_all       n * count         n * count          out=x

x and out of n * count elements may also be lists of n arrays of count elements, one for each rank;
of the calls with counts, of arrays that are long enough. A list in place has the same array on both
sides, or `out[rank]` is x and `x[rank]` out.

Where `out` is None it is made: like x, with the first axis n times as long or cut into n. Arrays are
contiguous, of the same dtype on all ranks; `dtype` says what the bits are where NumPy has no name for
it ("bf16" in uint16). Each call returns its output. What a rank sees alone is an ArgumentError
before anything is done.
"""

from __future__ import annotations

import weakref
from numbers import Real
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from ._coll import ANY_RANK, NONE, ROOT_FROM, Call, describe, is_list, kinds
from ._coll_v import describe_v
from ._errors import argument_error, name_bytes
from .window import nanoseconds

Array = np.ndarray
Op = Union[str, Callable[[Array, Array], None]]
Counts = Optional[Sequence[int]]


class Collectives:
    """The calls. op: "sum", "prod", "max", "min", "avg", "and", "or", "xor", "minloc", "maxloc", or a
    function(accumulator, source) that changes its first array and must not call tern. minloc and
    maxloc take pairs: dtype([("value", T), ("index", "i4")], align=True). algorithm: a name of
    `tern info --algos`; any_order: sums may run in another order than that of the ranks.
    """

    rank: int
    size: int

    def _go(self, call: Call) -> Any:
        raise NotImplementedError

    def within(self, timeout: float) -> "Within":
        """The same calls with a deadline of their own, in seconds, instead of the communicator's;
        math.inf: none. comm.within(2).all_reduce(x), comm.start.within(2).all_reduce(x)."""
        return Within(self, timeout)

    def _do(self, word: str, x: Optional[Array], out: Optional[Array], op: Any, root: int,
            dtype: Any, algorithm: Optional[str] = None, any_order: bool = False) -> Any:
        call = describe(kinds()[word], self.rank, self.size, x, out, op, root, dtype)
        return self._go(_with_order(call, algorithm, any_order))

    def _do_v(self, word: str, x: Optional[Array], out: Optional[Array], op: Any, root: int,
              dtype: Any, **counts: Counts) -> Any:
        return self._go(
            describe_v(kinds()[word], self.rank, self.size, x, out, counts, op, root, dtype)
        )

    def all_reduce(self, x: Array, out: Optional[Array] = None, op: Op = "sum", *,
                   dtype: Any = None, algorithm: Optional[str] = None,
                   any_order: bool = False) -> Any:
        """out = op of every rank's x, on every rank. In place: out=x.

        Shapes: out as x."""
        return self._do("all_reduce", x, out, op, 0, dtype, algorithm, any_order)

    def reduce_scatter(self, x: Array, out: Optional[Array] = None, op: Op = "sum", *,
                       dtype: Any = None, algorithm: Optional[str] = None,
                       any_order: bool = False) -> Any:
        """out = this rank's share of op of every rank's x.

        Shapes: x (n * k, ...) and out (k, ...), with n ranks."""
        return self._do("reduce_scatter", x, out, op, 0, dtype, algorithm, any_order)

    def all_gather(self, x: Array, out: Optional[Array] = None, *, dtype: Any = None,
                   algorithm: Optional[str] = None) -> Any:
        """out = the x of all ranks, one behind the other.

        Shapes: x (k, ...) and out (n * k, ...), with n ranks."""
        return self._do("all_gather", x, out, None, 0, dtype, algorithm)

    def broadcast(self, x: Array, root: int = 0, *, dtype: Any = None,
                  algorithm: Optional[str] = None) -> Any:
        """x = the root's x, on every rank. Shapes: the same x on all."""
        is_root = self.rank == root
        return self._do("broadcast", x if is_root else None, x, None, root, dtype, algorithm)

    def reduce(self, x: Array, out: Optional[Array] = None, op: Op = "sum", root: int = 0, *,
               dtype: Any = None, algorithm: Optional[str] = None, any_order: bool = False) -> Any:
        """On the root: out = op of every rank's x. Elsewhere None. Shapes: out as x."""
        return self._do("reduce", x, out, op, root, dtype, algorithm, any_order)

    def gather(self, x: Array, out: Optional[Array] = None, root: int = 0, *, dtype: Any = None,
               algorithm: Optional[str] = None) -> Any:
        """On the root: out = the x of all ranks, one behind the other. Elsewhere None.

        Shapes: x (k, ...) and out (n * k, ...), with n ranks."""
        return self._do("gather", x, out, None, root, dtype, algorithm)

    def scatter(self, x: Optional[Array], out: Optional[Array] = None, root: int = 0, *,
                dtype: Any = None, algorithm: Optional[str] = None) -> Any:
        """out = this rank's share of the root's x, which is None elsewhere.

        Shapes: x (n * k, ...) and out (k, ...), with n ranks. out None: made on the root; other
        ranks give it."""
        return self._do("scatter", x, out, None, root, dtype, algorithm)

    def all_to_all(self, x: Array, out: Optional[Array] = None, *, dtype: Any = None,
                   algorithm: Optional[str] = None) -> Any:
        """Share q of out = the share of rank q's x that is for this rank.

        Shapes: x and out (n * k, ...), with n ranks."""
        return self._do("all_to_all", x, out, None, 0, dtype, algorithm)

    def barrier(self) -> Any:
        """Returns when every rank has entered it; what was written before is seen after."""
        return self._do("barrier", None, None, None, 0, None)

    def send(self, x: Array, to: int, *, tag: int = 0, dtype: Any = None) -> Any:
        """To one rank, which receives it with the same dtype and tag; of one tag in the order sent.
        Any shape."""
        if tag == 0:
            return self._do("send", x, None, None, to, dtype)
        call = describe(kinds()["send"], self.rank, self.size, x, None, None, to, dtype)
        return self._go(_with_tag(call, tag))

    def recv(self, out: Array, source: int, *, tag: int = 0, at_most: bool = False,
             dtype: Any = None) -> Any:
        """From one rank: returns out, filled. Shapes: any with as many elements as were sent.

        at_most: or with more. source -1: from whichever rank sends first with this tag, at most as
        many elements as out has. Then returns a tuple: out, source, and count, the elements that
        came."""
        if tag == 0 and not at_most and source != ANY_RANK:
            return self._do("recv", None, out, None, source, dtype)
        call = describe(kinds()["recv"], self.rank, self.size, None, out, None, source, dtype)
        if at_most or source == ANY_RANK:
            call.keep_received()
        return self._go(_with_tag(call, tag))

    def all_gather_v(self, x: Array, counts: Sequence[int], out: Optional[Array] = None,
                     offsets: Counts = None, *, dtype: Any = None) -> Any:
        """As all_gather; rank r has counts[r] elements, which come to offsets[r] of out (None:
        packed). counts and offsets are the same on all ranks."""
        return self._do_v("all_gather_v", x, out, None, 0, dtype, out_counts=counts,
                          out_offsets=offsets)

    def reduce_scatter_v(self, x: Array, counts: Sequence[int], out: Optional[Array] = None,
                         op: Op = "sum", *, dtype: Any = None) -> Any:
        """As reduce_scatter; rank r gets counts[r] elements."""
        return self._do_v("reduce_scatter_v", x, out, op, 0, dtype, in_counts=counts)

    def gather_v(self, x: Array, counts: Counts = None, out: Optional[Array] = None,
                 offsets: Counts = None, root: int = 0, *, dtype: Any = None) -> Any:
        """As gather; counts and offsets on the root only, x has as many elements as this rank's."""
        is_root = self.rank == root
        return self._do_v("gather_v", x, out, None, root, dtype,
                          out_counts=counts if is_root else None,
                          out_offsets=offsets if is_root else None)

    def scatter_v(self, x: Optional[Array], counts: Counts = None, out: Optional[Array] = None,
                  offsets: Counts = None, root: int = 0, *, dtype: Any = None) -> Any:
        """As scatter; x, counts and offsets on the root only, out has as many elements as this
        rank's count."""
        is_root = self.rank == root
        return self._do_v("scatter_v", x, out, None, root, dtype,
                          in_counts=counts if is_root else None,
                          in_offsets=offsets if is_root else None)

    def all_to_all_v(self, x: Array, in_counts: Sequence[int], out_counts: Sequence[int],
                     out: Optional[Array] = None, in_offsets: Counts = None,
                     out_offsets: Counts = None, *, dtype: Any = None) -> Any:
        """in_counts[q] elements from in_offsets[q] of x go to rank q; out_counts[q] come from it to
        out_offsets[q] of out. in_counts[q] here is out_counts[rank] on rank q."""
        return self._do_v("all_to_all_v", x, out, None, 0, dtype, in_counts=in_counts,
                          in_offsets=in_offsets, out_counts=out_counts, out_offsets=out_offsets)


def _with_tag(call: Call, tag: Any) -> Call:
    if not isinstance(tag, (int, np.integer)) or not 0 <= tag < 1 << 64:
        raise argument_error(f"{call.kind.word}: tag is {tag!r}; it is a number of 0 to 2**64 - 1")
    call.coll.tag = int(tag)
    return call


class Within(Collectives):
    """Collectives.within: calls with a deadline of their own."""

    def __init__(self, target: Collectives, timeout: float) -> None:
        if not isinstance(timeout, Real) or not timeout > 0:
            raise argument_error(f"within: timeout is {timeout}; it is a number of seconds above 0")
        self._target = target
        self._timeout_ns = nanoseconds(timeout)
        self.rank, self.size = target.rank, target.size

    def _go(self, call: Call) -> Any:
        call.coll.timeout_ns = self._timeout_ns
        return self._target._go(call)


def _with_order(call: Call, algorithm: Optional[str], any_order: bool) -> Call:
    if algorithm is not None:
        if not isinstance(algorithm, str):
            raise argument_error(f"{call.kind.word}: algorithm is {algorithm!r}; it is a name of "
                                 "`tern info --algos`")
        call.coll.algorithm = name_bytes(f"{call.kind.word}: algorithm", algorithm)
    call.coll.order = 1 if any_order else 0
    return call


class Cache:
    """Calls that were made before with the same arrays: no look at their addresses, which costs more
    than a small call. An entry is good as long as its arrays are these very objects, with the same
    dtype and flags: NumPy does not resize an array that somebody has a weak reference to, and its
    length changes with its dtype only.
    """

    LIMIT = 256

    def __init__(self) -> None:
        self.entries: dict = {}

    def add(self, key: tuple, x: Array, out: Array, call: Call) -> None:
        if len(self.entries) >= self.LIMIT:
            self.entries.clear()
        call.kept.clear()  # the arrays may go; the entry then goes with them
        call.result = None
        entries = self.entries

        def forget(_: Any) -> None:
            entries.pop(key, None)

        self.entries[key] = (
            weakref.ref(x, forget), x.dtype, weakref.ref(out, forget), call.reference, call,
        )


def can_cache(call: Call, x: Optional[Array], out: Optional[Array]) -> bool:
    """Whether the call may be made again without a look: both arrays, given by the caller, with a
    plain operation."""
    if is_list(x) or is_list(out):
        return False
    return (x is not None and out is not None and x.dtype is out.dtype
            and call.coll.function is None
            and call.kind.in_ != NONE and call.kind.root != ROOT_FROM)
