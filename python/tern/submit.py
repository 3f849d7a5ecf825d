# SPDX-License-Identifier: Apache-2.0
"""Task graphs from tensors: an orchestration names what each task reads and writes, and the order
follows (include/tern/submit.h)."""

from __future__ import annotations

import contextlib
import ctypes
from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _dtypes, _enums, _errors, _layouts, kernels, window
from ._library import lib
from .graph import Notice, Wait, _Base
from .region import Region, _number, array_at

UPSTREAM = 1  # TERN_RINGS_UPSTREAM
Memory = Union[np.ndarray, Region]


class Use:
    """How a task uses memory: made by In, InOut, OutTo, NoDep and Out."""

    def __init__(self, access: str, region: Region, fill: Any = None) -> None:
        self.access, self.region, self.fill = access, region, fill


def _use(access: str, of: Memory, dtype: Any) -> Use:
    region = of if isinstance(of, Region) else Region(of, dtype)
    if access in ("inout", "out_existing"):
        _refuse_read_only(region, "InOut" if access == "inout" else "OutTo")
    return Use(access, region)


def _is_read_only(region: Region) -> bool:
    return region.array is not None and not region.array.flags.writeable


def _refuse_read_only(region: Region, what: str) -> None:
    if _is_read_only(region):
        raise _errors.argument_error(f"{what}: the array is read-only; it is to be written")


def In(of: Memory, dtype: Any = None) -> Use:
    """The task reads an array (a slice is a part of its array) or a region."""
    return _use("in", of, dtype)


def InOut(of: Memory, dtype: Any = None) -> Use:
    """It reads and writes it."""
    return _use("inout", of, dtype)


def OutTo(of: Memory, dtype: Any = None) -> Use:
    """It writes all of it."""
    return _use("out_existing", of, dtype)


def NoDep(of: Memory, dtype: Any = None) -> Use:
    """No order follows from it."""
    return _use("no_dep", of, dtype)


def Out(shape: Union[int, Sequence[int]], dtype: Any = "f32", fill: Any = None) -> Use:
    """It writes memory that is made for it, and filled with `fill` where that is given. The region
    is an output of the submission; its memory lives until the scope and its users have ended."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    made = _layouts.Region()
    numbers = _layouts.array_of(ctypes.c_uint32, shape, "Out: a length")
    number = _number(_dtypes.numpy_dtype(dtype), dtype)
    _errors.check(lib().tern_region_make(ctypes.byref(made), None, numbers, len(shape), number))
    return Use("out", Region._of_raw(made), fill)


class Submission(NamedTuple):
    """A task that was submitted."""

    id: int  # for `after`
    outputs: Tuple[Region, ...]  # what its Out became, in their order

    @property
    def out(self) -> Region:
        """The only output."""
        if len(self.outputs) != 1:
            raise _errors.argument_error(f"out: the task has {len(self.outputs)} outputs, not one")
        return self.outputs[0]


class TensorGraph(_Base):
    """A graph whose tasks an orchestration submits; it may run often.

        def build(graph):
            both = graph.submit(add, [In(a), In(b), Out(a.shape)])
            graph.submit(scale, [In(both.out), OutTo(c), 3])

        chip.orchestrate(TensorGraph(), build)
        chip.synchronize()

    Rings: tasks in flight (window), bytes of outputs (heap), edges and regions of tasks in flight,
    one number or four for scopes of depth 0 to 3; 0: the default. upstream: writers wait for no
    reader, as in the first chip runtimes.
    """

    def __init__(self, *, window: Any = 0, heap: Any = 0, edges: Any = 0, regions: Any = 0,
                 upstream: bool = False) -> None:
        options = _layouts.RingOptions(flags=UPSTREAM if upstream else 0)
        for name, said in [("window", window), ("heap", heap), ("edges", edges),
                           ("regions", regions)]:
            numbers = [said] if isinstance(said, (int, np.integer)) else list(said)
            field = getattr(options, name)
            if len(numbers) > _layouts.RINGS:
                raise _errors.argument_error(f"{name} has {len(numbers)} numbers; there are "
                                             f"{_layouts.RINGS} rings")
            for i, number in enumerate(numbers):
                field[i] = _layouts.within(field._type_, number, name)
        plain = not any([window, heap, edges, regions, upstream])  # then the environment's
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_graph_create_rings(None if plain else ctypes.byref(options),
                                                    ctypes.byref(handle)))
        _Base.__init__(self, handle.value)

    def _ran(self) -> None:
        super()._ran()
        self._kept.clear()  # the next run submits its own

    def submit(self, kernel: Any, args: Sequence[Any] = (), *, core: str = "aiv",
               name: Optional[str] = None, blocks: int = 1, sync_start: bool = False,
               after: Iterable[Union[int, Submission]] = (), waits: Iterable[Wait] = (),
               predicate: Optional[Sequence] = None,
               notifies: Iterable[Notice] = ()) -> Submission:
        """Submits a task, which may start at once. By the orchestration alone.

        args, in the order in which the kernel has them: In, InOut, OutTo, NoDep, Out (the kernel
        gets the address of a tern_region; a function of Python an array), and numbers. The others
        are as of Graph.add; `after`: tasks that it comes after besides. Waits while there is no
        room; StateError once the run has failed.
        """
        where = f"task '{kernels.name_of(kernel, name)}'"
        task, kept = self._task(kernel, core, name, blocks, sync_start, predicate, notifies,
                                lambda words: _given(words, args, self))
        rows = (_layouts.TaskArg * max(len(args), 1))()
        outputs: List[Region] = []
        for i, argument in enumerate(args):
            self._fill(rows[i], argument, f"{where}: argument {i}", outputs, kept)
        before = [after] if isinstance(after, Submission) else after
        ids = [getattr(one, "id", one) for one in before]
        waits = list(waits)
        conditions, count = window._conditions(waits)
        self._use_windows([*args, *(wait[0] for wait in waits)])
        submission = _layouts.Submission(
            task=task, args=rows, args_count=len(args),
            after=_layouts.array_of(ctypes.c_uint64, ids, f"{where}: after"), after_count=len(ids),
            waits=ctypes.cast(conditions, ctypes.c_void_p), waits_count=count)
        number = ctypes.c_uint64()
        _errors.check(lib().tern_graph_submit(self._handle, ctypes.byref(submission),
                                              ctypes.byref(number)))
        self._kept += kept  # until the run has ended
        return Submission(number.value, tuple(outputs))

    @staticmethod
    def _fill(row: _layouts.TaskArg, argument: Any, where: str, outputs: List[Region],
              kept: List[Any]) -> None:
        """A tern_task_arg of an argument."""
        if isinstance(argument, (np.ndarray, Region)):
            raise _errors.argument_error(f"{where} is memory; how is it used: In, InOut, OutTo or "
                                         "NoDep?")
        if not isinstance(argument, Use):
            value, keeps = kernels.word_of(argument, where)
            row.access = _enums.number("tern_access", "scalar", where)
            row.scalar = value % (1 << 64)
            kept.append(keeps)
            return
        region = argument.region
        row.access = _enums.number("tern_access", argument.access, where)
        if argument.access == "out":
            region = Region._of_raw(_layouts.Region.from_buffer_copy(region.raw))
            outputs.append(region)
            if argument.fill is not None:
                dtype = _dtypes.numpy_dtype(region.dtype)
                bits = np.array(argument.fill).astype(dtype).tobytes()
                row.filled, row.fill = True, int.from_bytes(bits, "little")
        row.region = ctypes.pointer(region.raw)
        kept.append(region)

    @contextlib.contextmanager
    def scope(self, manual: bool = False) -> Iterator[None]:
        """Outputs that are submitted inside live until its end; manual: no order follows from
        regions, only from `after`."""
        _errors.check(lib().tern_graph_scope_begin(self._handle, int(manual)))
        yield
        _errors.check(lib().tern_graph_scope_end(self._handle))

    def get(self, region: Memory, *index: int) -> Any:
        """An element, when the tasks that wrote it have finished."""
        region = region if isinstance(region, Region) else Region(region)
        dtype, value = _dtypes.numpy_dtype(region.dtype), ctypes.c_uint64()
        _errors.check(lib().tern_graph_get_element(self._handle, ctypes.byref(region.raw),
                                                   _index(region, index), ctypes.byref(value)))
        return np.frombuffer(value.value.to_bytes(8, "little"), dtype, 1)[0]

    def set(self, region: Memory, *index_and_value: Any) -> None:
        """set(region, i, j, value): when those that wrote or read it have finished."""
        region = region if isinstance(region, Region) else Region(region)
        _refuse_read_only(region, "set")
        *index, value = index_and_value
        bits = np.array(value).astype(_dtypes.numpy_dtype(region.dtype)).tobytes()
        _errors.check(lib().tern_graph_set_element(self._handle, ctypes.byref(region.raw),
                                                   _index(region, index),
                                                   int.from_bytes(bits, "little")))

    def marks(self) -> dict:
        """What the last run used at most of each ring: window, edges, regions, heap; and tasks."""
        raw = _layouts.RingMarks()
        _errors.check(lib().tern_graph_marks(self._handle, ctypes.byref(raw)))
        used = {name: list(getattr(raw, name)) for name in ("window", "edges", "regions", "heap")}
        return {**used, "tasks": raw.tasks}

    def __repr__(self) -> str:
        return "<tern.TensorGraph>"


def _index(region: Region, index: Sequence[int]) -> "ctypes.Array":
    if len(index) != region.raw.ndims:
        raise _errors.argument_error(f"an element of {region!r} has {region.raw.ndims} indices, "
                                     f"not {len(index)}")
    return _layouts.array_of(ctypes.c_uint32, index, "an index")


def _given(words: Any, args: Sequence[Any], graph: TensorGraph) -> List[Any]:
    """What a kernel in Python gets: arrays of regions, and numbers as they were given. What it only
    reads it cannot write. An array that it keeps keeps its memory: the graph, of an Out."""
    given: List[Any] = []
    for i, argument in enumerate(args):
        if isinstance(argument, Use):
            array = array_at(words[i], (argument, graph))
            if argument.access == "in" or _is_read_only(argument.region):
                array.flags.writeable = False
            given.append(array)
        else:
            given.append(argument)
    return given
