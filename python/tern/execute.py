# SPDX-License-Identifier: Apache-2.0
"""Runs of a plan on NumPy arrays: made by Plan.prepare (include/tern/exec.h)."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any, Iterator, Optional, Tuple

import numpy as np

from . import _dtypes, _errors, _layouts
from ._coll import ROOT_FROM, ROOT_TO, kinds
from ._library import lib
from .plan import Plan

if TYPE_CHECKING:
    from .comm import Comm
    from .window import Window

COUNT_LINKS = 1  # TERN_EXEC_COUNT_LINKS
OPS = ("sum", "prod", "max", "min")


def _end(handle: int, *_: Any) -> None:
    """What it is given besides lives until here."""
    lib().tern_exec_destroy(handle)


def _overlap(one: Optional[np.ndarray], other: Optional[np.ndarray]) -> bool:
    return one is not None and other is not None and np.may_share_memory(one, other)


class PlanRun:
    """A plan with the arrays that it works on; runs as often as wanted.

        with plan.prepare(comm, x, out) as run:
            run.run()                   # out is filled; change x, and run again

    x is what the plan calls `in`, out is its `out`: contiguous arrays of any shape with
    plan.buffer_bytes of bytes, on the ranks that have the buffer (of kinds with a root only the
    root has the one or the other; elsewhere None). out None: it is made, see `out`. Arrays in
    windows of the communicator (of Comm.window) are worked on where they lie, when those of all
    ranks do; others are copied into a window before each run, and out of one after it. They may
    overlap as those of collective calls in place: then only a plan that is right in place goes
    without copies.

    op: "sum", "prod", "max" or "min"; dtype: "bf16" for bits in uint16, and what `out` gets where x
    does not say it. count_links: see link_bytes.

    Made, run and closed by all ranks in the same order; made and run by one thread. Errors:
    ArgumentError for arrays that do not fit the plan (this rank's alone, before anything is done),
    MismatchError when the ranks pass different plans, and those of waits.
    """

    def __init__(self, comm: "Comm", plan: Plan, x: Optional[np.ndarray] = None,
                 out: Optional[np.ndarray] = None, op: str = "sum", *, dtype: Any = None,
                 count_links: bool = False) -> None:
        self._end: Optional[weakref.finalize] = None
        self._lock = threading.Lock()
        self.comm, self.plan = comm, plan
        facts = kinds()[plan.kind]
        has_x = facts.root != ROOT_FROM or comm.rank == plan.root
        has_out = facts.root != ROOT_TO or comm.rank == plan.root
        self._x = self._take("x", x, "in", has_x)
        made = out is None and has_out and plan.buffer_bytes("out") > 0
        self._out = None if made else self._take("out", out, "out", has_out, True)
        self._dtype = dtype
        if op not in OPS:
            raise _errors.argument_error(f"op is {op!r}; plans have {', '.join(OPS)}")
        options = _layouts.ExecOptions(dtype=self._element(facts.sums),
                                       op=_dtypes.operations()[op],
                                       flags=COUNT_LINKS if count_links else 0)
        self._windows: list = []
        placed = self._place(made)
        for name, (window, offset) in zip(("in", "out"), placed):
            setattr(options, name, window)
            setattr(options, f"{name}_offset", offset)
        handle = ctypes.c_void_p()
        with comm._alone():
            _errors.check(lib().tern_exec_create(comm.handle, plan._handle, ctypes.byref(options),
                                                 ctypes.byref(handle)))
        self._handle = handle.value
        self._end = weakref.finalize(self, _end, self._handle, plan, self._windows, x, out)
        comm._users.add(self)

    def _take(self, what: str, array: Optional[np.ndarray], buffer: str, has: bool,
              writable: bool = False) -> Optional[np.ndarray]:
        """The array when this rank has the buffer and it fits."""
        wanted = self.plan.buffer_bytes(buffer)
        if not has or wanted == 0:
            return None
        if array is None:
            raise _errors.argument_error(f"{what}: this rank has the plan's {buffer}, of {wanted} "
                                         "bytes; there is no array for it")
        _dtypes.check_array(what, array, writable)
        if array.nbytes != wanted:
            raise _errors.argument_error(f"{what} has {array.nbytes} bytes; the plan's {buffer} "
                                         f"has {wanted}")
        return array

    def _element(self, sums: bool) -> int:
        """The number of the element type: only sums look into elements."""
        unit, words = self.plan.unit, _dtypes.words()
        array = self._x if self._x is not None else self._out
        if not sums or array is None:
            return words[f"u{unit * 8}"]
        number = _dtypes.dtype_number("x", array.dtype, self._dtype)
        if lib().tern_dtype_size(number) != unit:
            raise _errors.argument_error(f"x has elements of {array.dtype.itemsize} bytes; those "
                                         f"of the plan have {unit}")
        return number

    def _place(self, made: bool) -> Tuple[Tuple[Optional[int], int], Tuple[Optional[int], int]]:
        """(window, offset) of both buffers: where the arrays are, when that is so on all ranks."""
        x_at, out_at = self._find(self._x), self._find(self._out)
        if _overlap(self._x, self._out) and not self.plan.check(in_place=True).proved:
            x_at = None
        mine = np.array([x_at is not None, out_at is not None], np.int32)
        self.comm.all_reduce(mine, mine, "min")
        self._staged_x = self._staged_out = None
        if not mine[0]:
            window, self._staged_x = self._stage("in", self._x)
            x_at = (window and window.handle, 0)
        if not mine[1]:
            window, self._staged_out = self._stage("out", self._out)
            out_at = (window and window.handle, 0)
            if made:
                self._out, self._staged_out = self._made_out(window), None
        return x_at, out_at

    def _find(self, array: Optional[np.ndarray]) -> Optional[Tuple[int, int]]:
        """Its window and its offset there, when it lies in one of this communicator."""
        if array is None:
            return None
        window, rank, offset = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_size_t()
        status = lib().tern_window_find(array.ctypes.data, ctypes.byref(window),
                                        ctypes.byref(rank), ctypes.byref(offset))
        own = status == 0 and rank.value == self.comm.rank
        known = {memory.handle for memory in self.comm._windows}
        return (window.value, offset.value) if own and window.value in known else None

    def _stage(self, buffer: str, array: Optional[np.ndarray]
               ) -> Tuple[Optional["Window"], Optional[np.ndarray]]:
        """A window for a buffer, and the part of it that an array is copied to or from."""
        size = self.plan.buffer_bytes(buffer)
        if size == 0:
            return None, None
        window = self.comm.window(size)
        self._windows.append(window)
        return window, None if array is None else window.array(array.dtype, array.shape)

    def _made_out(self, window: "Window") -> np.ndarray:
        said = self._dtype if self._dtype is not None else (
            self._x.dtype if self._x is not None else f"u{self.plan.unit * 8}")
        dtype = _dtypes.numpy_dtype(said)
        return window.array(dtype, self.plan.buffer_bytes("out") // dtype.itemsize)

    @property
    def out(self) -> Optional[np.ndarray]:
        """What runs write: the array that was given; or one that was made in a window, of one
        dimension, with the dtype of x, which stays good when this is closed. None on ranks without
        output."""
        return self._out

    def _live(self) -> int:
        if self._end is None or not self._end.alive:
            raise _errors.make(_errors.status_number("TERN_ERR_STATE"), "the run is closed")
        return self._handle

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """No other thread is in a call of this run."""
        if not self._lock.acquire(False):
            raise _errors.make(_errors.status_number("TERN_ERR_STATE"),
                               "another thread is in a call of this run; one at a time")
        try:
            yield
        finally:
            self._lock.release()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """The handle, while no other thread is in a call of this run or its communicator."""
        with self._held(), self.comm._alone():
            yield self._live()

    def start(self) -> None:
        """Begins a run, and does what is ready; then test or wait. The arrays are the run's until
        it has ended."""
        self._live()
        if self._staged_x is not None:
            self._staged_x[...] = self._x
        with self._alone() as handle:
            _errors.check(lib().tern_exec_start(handle))

    def test(self) -> bool:
        """Continues the run and says whether it has ended."""
        with self._alone() as handle:
            ended = _errors.check(lib().tern_exec_test(handle)) == 1
        if ended:
            self._finish()
        return ended

    def wait(self) -> Optional[np.ndarray]:
        """Continues the run until it has ended; returns out."""
        with self._alone() as handle:
            _errors.check(lib().tern_exec_wait(handle))
        return self._finish()

    def run(self) -> Optional[np.ndarray]:
        """start and wait; returns out."""
        self.start()
        return self.wait()

    def _finish(self) -> Optional[np.ndarray]:
        if self._staged_out is not None:
            self._out[...] = self._staged_out
        return self._out

    def link_bytes(self, source: int, destination: int) -> int:
        """Bytes that this rank, one of the two, has moved over that link in runs that have ended; 0
        without count_links."""
        return lib().tern_exec_link_bytes(self._live(), source, destination)

    def close(self) -> None:
        """Every rank does, after its last run; it waits for nobody. May be called again."""
        if self._end is not None:
            with self._held():
                self._end()
            for window in self._windows:
                window.close()

    def __enter__(self) -> "PlanRun":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "open" if self._end is not None and self._end.alive else "closed"
        return f"<tern.PlanRun of {self.plan!r}, {state}>"
