# SPDX-License-Identifier: Apache-2.0
"""Windows: memory of a rank that every rank of the communicator reaches; as arrays, by put and get,
and with signals in it. Made by Comm.window; docs/python.md has examples."""

from __future__ import annotations

import contextlib
import ctypes
import math
import operator
from numbers import Real
from typing import TYPE_CHECKING, Any, Iterable, Optional, Sequence, Tuple, Union

import numpy as np

from . import _dtypes, _layouts
from ._errors import argument_error, check
from ._library import lib
from ._memory import WindowMemory, as_bytes, closed_error
from .context import Context

if TYPE_CHECKING:
    from .comm import Comm

PREFAULT, HUGE = 1, 2  # enum tern_window_flags
TIMEOUT_DEFAULT = -1
COMPARISONS = {"==": 0, "!=": 1, ">": 2, ">=": 3, "<": 4, "<=": 5}  # tern_cmp
NOTIFY_OPS = {"add": 0, "set": 1}  # tern_notify_op

Shape = Union[int, Sequence[int]]


class _Block(_layouts.Checked):  # tern_block
    _fields_ = [(name, ctypes.c_size_t) for name in
                ("rows", "row_bytes", "window_stride_bytes", "local_stride_bytes")]


class _Condition(_layouts.Checked):  # tern_condition
    _fields_ = [("window", ctypes.c_void_p), ("offset_bytes", ctypes.c_size_t),
                ("cmp", ctypes.c_int), ("value", ctypes.c_int32)]


class _Options(ctypes.Structure):  # tern_window_options
    _fields_ = [("flags", ctypes.c_uint32)]


def timeout_ns(seconds: Optional[float]) -> int:
    """A timeout of a call: None is the communicator's own deadline."""
    if seconds is None:
        return TIMEOUT_DEFAULT
    if not isinstance(seconds, Real) or not 0 <= seconds < 1e9:
        raise argument_error(f"timeout is {seconds}; it is a number of seconds, 0 or more, or None")
    return int(seconds * 1e9)


def nanoseconds(timeout: float) -> int:
    """Of a number of seconds; math.inf, and what is as good as that: TERN_TIMEOUT_NEVER."""
    return max(int(timeout * 1e9), 1) if timeout < 1e9 else 2**63 - 1


def deadline_ns(seconds: Optional[float]) -> int:
    """The deadline of a job, a chip or a node; None: the default, math.inf: none."""
    if seconds is None:
        return 0
    if not isinstance(seconds, Real) or not (0 < seconds < 1e9 or seconds == math.inf):
        raise argument_error(f"timeout is {seconds}; it is a number of seconds above 0, or None")
    return nanoseconds(seconds)


def _whole(what: str, value: Any) -> int:
    """A number of Python, also of one of NumPy."""
    try:
        return operator.index(value)
    except TypeError:
        raise argument_error(f"{what} is {value!r}; it is a whole number") from None


def _word_number(what: str, word: str, table: dict) -> int:
    if not isinstance(word, str) or word not in table:
        raise argument_error(f"{what} is {word!r}; it is one of {', '.join(table)}")
    return table[word]


class Window:
    """A window of a communicator. Offsets are bytes from the begin of a rank's part, which has
    `size` bytes on every rank. All methods but close may be called by any thread."""

    def __init__(self, comm: "Comm", size_bytes: int, prefault: bool, huge: bool) -> None:
        handle = ctypes.c_void_p()
        options = _Options((PREFAULT if prefault else 0) | (HUGE if huge else 0))
        if not isinstance(size_bytes, (int, np.integer)) or size_bytes < 0:
            raise argument_error(f"size_bytes is {size_bytes!r}; it is a number of bytes, at least 1")
        check(lib().tern_window_create(comm.handle, int(size_bytes), ctypes.byref(options),
                                       ctypes.byref(handle)))
        self._memory = WindowMemory(handle.value, comm.size)
        self.comm = comm
        self.rank = comm.rank
        self.ranks = comm.size
        self.size = self._memory.size

    @property
    def handle(self) -> int:
        """The tern_window * of the library; StateError once the window is closed."""
        handle = self._memory.handle if self._memory is not None else None
        if handle is None:
            raise closed_error()
        return handle

    def _use(self) -> WindowMemory:
        """For `with`: the handle, which stays good until its end."""
        memory = self._memory
        if memory is None:
            raise closed_error()
        return memory

    @property
    def context(self) -> Context:
        """The device context of the window: what kernels use to reach peers. Lives as long as the
        window is open."""
        return Context.from_address(lib().tern_window_context(self.handle))

    def array(self, dtype: Any = np.float32, shape: Optional[Shape] = None, offset: int = 0,
              rank: Optional[int] = None) -> np.ndarray:
        """The memory of a rank (None: the own) from `offset` on as an array, without a copy.

        shape None: all that fits, as one dimension. The array keeps the memory: it may be used after
        the window is closed and its communicator is destroyed.
        """
        dtype = _dtypes.memory_dtype("array", dtype)
        self.handle
        rank = self.rank if rank is None else rank
        rank, offset = _whole("array: rank", rank), _whole("array: offset", offset)
        if not 0 <= rank < self.ranks:
            raise argument_error(f"array: rank is {rank}; the window has ranks 0..{self.ranks - 1}")
        if not 0 <= offset <= self.size:
            raise argument_error(f"array: offset is {offset}; the window has {self.size} bytes")
        if shape is None:
            shape = ((self.size - offset) // dtype.itemsize,)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        if any(length < 0 for length in shape):
            raise argument_error(f"array: shape is {shape}; lengths are 0 or more")
        needed = dtype.itemsize
        for length in shape:
            needed *= int(length)
        if needed > self.size - offset:
            raise argument_error(f"array: shape {shape} of {dtype} is {needed} bytes; from offset "
                                 f"{offset} on the window has {self.size - offset}")
        if offset % dtype.alignment:
            raise argument_error(f"array: offset is {offset}; {dtype} is aligned to "
                                 f"{dtype.alignment} bytes")
        if not self.is_local(rank):
            raise argument_error(f"array: rank {rank} is on another machine, so its memory has no "
                                 "address here; put and get reach it")
        memory = self._memory
        return as_bytes(memory, memory.address_of(rank) + offset, needed).view(dtype).reshape(shape)

    def is_local(self, rank: int) -> bool:
        """Whether the memory of a rank can be an array here: it is on this machine."""
        return check(lib().tern_window_is_local(self.handle, _whole("is_local: rank", rank))) == 1

    def put(self, rank: int, data: np.ndarray, offset: int = 0,
            stride: Optional[int] = None) -> None:
        """window[rank][offset ..] = data. With `stride`, or where the rows of a 2-D array do not
        follow each other, a block of rows whose begins in the window are `stride` bytes apart
        (None: one row behind the other)."""
        block = self._rows("put: data", data, stride, writable=False)
        if block is None:
            address, _ = _dtypes.check_array("put: data", data)
            with self._use() as handle:
                check(lib().tern_put(handle, rank, offset, address, data.nbytes))
        else:
            with self._use() as handle:
                check(lib().tern_put_block(handle, rank, offset, data.ctypes.data,
                                           ctypes.byref(block)))

    def get(self, rank: int, out: np.ndarray, offset: int = 0,
            stride: Optional[int] = None) -> np.ndarray:
        """out = window[rank][offset ..], and returns it. `stride` as of put."""
        block = self._rows("get: out", out, stride, writable=True)
        if block is None:
            address, _ = _dtypes.check_array("get: out", out, writable=True)
            with self._use() as handle:
                check(lib().tern_get(handle, rank, offset, address, out.nbytes))
        else:
            with self._use() as handle:
                check(lib().tern_get_block(handle, rank, offset, out.ctypes.data,
                                           ctypes.byref(block)))
        return out

    @staticmethod
    def _rows(what: str, array: Any, stride: Optional[int], writable: bool) -> Optional[_Block]:
        """The block of a 2-D array; None for what is one piece on both sides."""
        if not isinstance(array, np.ndarray) or (stride is None and array.flags.c_contiguous):
            return None
        if array.dtype.hasobject:
            _dtypes.check_array(what, array)  # raises
        if array.ndim != 2 or array.strides[1] != array.itemsize or array.strides[0] < 0:
            raise argument_error(
                f"{what} has shape {array.shape}, strides {array.strides}; it must be contiguous, or "
                "have two dimensions and rows that are contiguous"
            )
        if writable and not array.flags.writeable:
            raise argument_error(f"{what} is read-only; the call writes into it")
        row = array.shape[1] * array.itemsize
        return _Block(array.shape[0], row, row if stride is None else stride,
                      array.strides[0] if array.shape[0] > 1 else row)

    def put_add(self, rank: int, data: np.ndarray, offset: int = 0, dtype: Any = None) -> None:
        """window[rank][offset ..] += data, each element atomically by itself. dtype "bf16" for bits
        in an array of uint16."""
        address, count = _dtypes.check_array("put_add: data", data)
        number = _dtypes.dtype_number("put_add", data.dtype, dtype)
        with self._use() as handle:
            check(lib().tern_put_add(handle, rank, offset, address, count, number))

    def notify(self, rank: int, offset: int = 0, value: int = 1, op: str = "add") -> None:
        """Changes the 32-bit signal at `offset` in the window of a rank, "add" or "set", and wakes
        that rank. What was put before is visible to who sees the new value."""
        with self._use() as handle:
            check(lib().tern_signal_notify(handle, rank, offset, value,
                                           _word_number("notify: op", op, NOTIFY_OPS)))

    def wait(self, offset: int, value: int, cmp: str = ">=", timeout: Optional[float] = None) -> None:
        """Returns when the own signal at `offset` satisfies `signal cmp value`.

        timeout: seconds, after which TimeoutError ends only this call; None: the communicator's
        deadline, which fails the communicator. Ctrl-C does what the deadline would have done.
        """
        number = _word_number("wait: cmp", cmp, COMPARISONS)
        with self._use() as handle:
            check(lib().tern_signal_wait(handle, offset, number, value, timeout_ns(timeout)))

    def test(self, offset: int, value: int, cmp: str = ">=") -> bool:
        """Whether the own signal at `offset` satisfies `signal cmp value` now."""
        number = _word_number("test: cmp", cmp, COMPARISONS)
        with self._use() as handle:
            return check(lib().tern_signal_test(handle, offset, number, value)) == 1

    def signal(self, offset: int = 0) -> int:
        """The value of the own signal at `offset` now."""
        value = ctypes.c_int32()
        with self._use() as handle:
            check(lib().tern_signal_read(handle, offset, ctypes.byref(value)))
        return value.value

    def close(self) -> None:
        """Lets go of the window in this process; every rank does, and it waits for nobody. Arrays
        stay good. StateError while another thread is in a call of it. May be called again."""
        memory = self._memory
        if memory is not None:
            memory.release()
            self._memory = None

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._memory is None or self._memory.handle is None else "open"
        return f"<tern.Window of {self.size} bytes on each of {self.ranks} ranks, {state}>"


Condition = Tuple[Window, int, int, str]  # window, offset, value, comparison


def _conditions(conditions: Iterable[Sequence],
                uses: Optional[contextlib.ExitStack] = None) -> Tuple[Any, int]:
    """tern_conditions, whose windows stay open as long as `uses`."""
    rows = []
    for condition in conditions:
        window, offset, value, *rest = condition
        cmp = rest[0] if rest else ">="
        if uses is not None:
            uses.enter_context(window._use())
        rows.append(_Condition(window.handle, offset, _word_number("cmp", cmp, COMPARISONS), value))
    return (_Condition * max(len(rows), 1))(*rows), len(rows)


def wait_all_signals(conditions: Iterable[Sequence], timeout: Optional[float] = None) -> None:
    """Returns when all conditions hold at the same time; each is (window, offset, value) or (window,
    offset, value, cmp), cmp being ">=" where it is not said. timeout as of Window.wait."""
    with contextlib.ExitStack() as uses:
        rows, count = _conditions(conditions, uses)
        check(lib().tern_signal_wait_all(rows, count, timeout_ns(timeout)))


def wait_any_signal(conditions: Iterable[Sequence], timeout: Optional[float] = None) -> int:
    """Returns the index of the first condition that holds, when any one does."""
    which = ctypes.c_size_t()
    with contextlib.ExitStack() as uses:
        rows, count = _conditions(conditions, uses)
        check(lib().tern_signal_wait_any(rows, count, timeout_ns(timeout), ctypes.byref(which)))
    return which.value
