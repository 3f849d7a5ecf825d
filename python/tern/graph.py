# SPDX-License-Identifier: Apache-2.0
"""Task graphs: tasks, edges and waits, built before they run or by a function on the chip while
they run (include/tern/graph.h). Those whose order follows from arrays are in submit.py."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple, Union

from . import _dtypes, _enums, _errors, _layouts, kernels, window
from ._library import lib
from ._memory import Use

Wait = Sequence  # (window, offset, value) or (window, offset, value, cmp): as of wait_all_signals
Notice = Sequence  # (window, rank or None, offset)


def _predicate(said: Sequence) -> _layouts.Predicate:
    """Of (array, comparison, value): the first element of the array decides."""
    array, cmp, value = said
    address, count = _dtypes.check_array("predicate", array)
    if count < 1 or cmp not in window.COMPARISONS:
        raise _errors.argument_error("predicate is (array with an element, one of "
                                     f"{' '.join(window.COMPARISONS)}, value)")
    return _layouts.Predicate(address, _dtypes.dtype_number("predicate", array.dtype),
                              window.COMPARISONS[cmp], value)


class _Base:
    """What graphs have in common: a handle, and what their tasks use."""

    def __init__(self, handle: Optional[int], owned: bool = True) -> None:
        self._handle = handle  # None: from the orchestration that it is given to
        self._kept: List[Any] = []  # arrays, regions, callbacks: for as long as the graph lives
        self._raised: List[BaseException] = []  # by kernels and orchestrations in Python
        self._orchestrated = False
        self._windows: Dict[int, window.Window] = {}  # by their identity: what tasks use of them
        self._uses: List[Use] = []  # of windows, by a run of an orchestration
        if owned:
            self._close = weakref.finalize(self, lib().tern_graph_destroy, handle)

    def _ran(self) -> None:
        """After synchronize."""
        self._raised.clear()

    def _use_windows(self, used: Iterable[Any]) -> None:
        """Windows that a task uses: each stays open while a run may use it."""
        for one in used:
            if isinstance(one, window.Window):
                if self._orchestrated:
                    self._uses.append(Use(one._use()))
                elif id(one) not in self._windows:
                    one.handle  # StateError when it is closed
                    self._windows[id(one)] = one

    def load(self, path: Union[str, os.PathLike]) -> None:
        """Opens a shared object in which tasks find kernels by name."""
        name = _errors.path_bytes("path", path)
        kernels.make_global()
        _errors.check(lib().tern_graph_load(self._handle, name))

    @property
    def run_number(self) -> int:
        """In an orchestration: which run of the graph this is, from 0."""
        return _errors.check(lib().tern_graph_run(self._handle))

    def give_up(self, sentence: str, code: int = 9) -> None:
        """In an orchestration: the run fails with this sentence and a code of graph_code.def."""
        call = lib().cdll.tern_graph_give_up
        call.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_char_p]
        call(self._handle, code, b"%s", _errors.sentence_bytes(sentence))

    @property
    def failed(self) -> bool:
        """In an orchestration: whether the run has failed, so that what follows is in vain."""
        return lib().tern_graph_is_fatal(self._handle)

    def _task(self, kernel: Any, core: str, name: Optional[str], blocks: int, sync_start: bool,
              predicate: Optional[Sequence], notifies: Iterable[Notice],
              given: Any) -> Tuple[_layouts.Task, List[Any]]:
        """A tern_task without its arguments, and what it keeps."""
        core = "none" if kernel is None else core
        kept: List[Any] = []
        task = _layouts.Task(core=_enums.number("tern_core", core, "core"), blocks=blocks,
                             sync_start=sync_start)
        if core == "mix":
            if not isinstance(kernel, (tuple, list)) or len(kernel) != 3:
                raise _errors.argument_error("the kernels of a mixed task are three: AIC, the "
                                             "first and the second AIV; one of them may be None")
            kept += [kernels.set_kernel(task, one, given, self._raised, i)
                     for i, one in enumerate(kernel)]
            name = name or "mixed"
        else:
            kept.append(kernels.set_kernel(task, kernel, given, self._raised))
        task.name = _errors.name_bytes("name", kernels.name_of(kernel, name))
        if predicate is not None:
            made = _predicate(predicate)
            task.predicate = ctypes.pointer(made)
            kept += [made, predicate[0]]
        said = list(notifies)
        self._use_windows([notified for notified, _, _ in said])
        rows = (_layouts.Notice * len(said))(*[(notified.handle, -1 if rank is None else rank, at)
                                               for notified, rank, at in said])
        task.notices, task.notices_count = rows, len(said)
        return task, kept + [rows, said]


class Graph(_Base):
    """Tasks with explicit edges.

        graph = tern.Graph()
        first = graph.add(kernels.load, [x, x.size])
        graph.add(kernels.double, [x, y], after=[first], core="aic")
        chip.run(graph)                  # as often as wanted; nothing is built again

    The arrays of tasks live as long as the graph. Built by one thread, and unchanged after its
    first launch (StateError); or by a function that Chip.orchestrate calls, while its tasks run.
    """

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_graph_create(ctypes.byref(handle)))
        _Base.__init__(self, handle.value)

    def add(self, kernel: Any, args: Sequence[Any] = (), *, core: str = "aiv",
            name: Optional[str] = None, blocks: int = 1, sync_start: bool = False,
            after: Union[int, Iterable[int]] = (), waits: Iterable[Wait] = (),
            step_per_run: int = 0, predicate: Optional[Sequence] = None,
            notifies: Iterable[Notice] = (), publish: bool = True) -> int:
        """Adds a task, and returns its number.

        kernel: one of a Kernels, a name in what `load` opened, a function of Python, None (it only
        orders others), or three for core "mix". args: what the kernel gets, as int64: see
        kernels.word_of. core: "aic", "aiv" or "mix". after: tasks before it. waits: conditions on
        signals of this rank, (window, offset, value) or with a comparison; in run r they compare
        with value + r * step_per_run. predicate: (array, ">=", 3): else the task does not run.
        notifies: signals that its kernel notifies, for sentences and records: (window, rank,
        offset), rank None for every rank.
        publish: in an orchestration, nothing more is said of it.
        """
        where = kernels.name_of(kernel, name)
        words, kept = kernels.words_of(args, f"task '{where}'")
        given = tuple(args)
        self._use_windows(given)
        task, more = self._task(kernel, core, name, blocks, sync_start, predicate, notifies,
                                lambda _: given)
        task.args, task.args_count = words, len(args)
        number = ctypes.c_int()
        _errors.check(lib().tern_graph_add_task(self._handle, ctypes.byref(task),
                                                ctypes.byref(number)))
        self._kept += kept + more
        for before in [after] if isinstance(after, int) else after:
            self.edge(before, number.value)
        for wait in waits:
            self.wait(number.value, *wait, step_per_run=step_per_run)
        if publish and self._orchestrated:
            self.publish(number.value)
        return number.value

    def edge(self, before: int, after: int) -> None:
        """`after` starts when `before` has returned, and sees what it wrote."""
        _errors.check(lib().tern_graph_add_edge(self._handle, before, after))

    def wait(self, task: int, signals: Any, offset: int, value: int, cmp: str = ">=", *,
             step_per_run: int = 0) -> None:
        """The task also waits until the signal at `offset` of a window of this rank satisfies
        `signal cmp value + run * step_per_run`; it holds no core meanwhile."""
        rows, _ = window._conditions([(signals, offset, value, cmp)])
        self._use_windows([signals])
        _errors.check(lib().tern_graph_add_wait(self._handle, task, rows, step_per_run))
        self._kept.append(signals)

    def publish(self, task: int) -> None:
        """In an orchestration: nothing more will be said of a task, and it may start."""
        _errors.check(lib().tern_graph_publish(self._handle, task))

    def __len__(self) -> int:
        return lib().tern_graph_task_count(self._handle)

    def name(self, task: int) -> str:
        """The name of a task; IndexError when there is none."""
        found = lib().tern_graph_task_name(self._handle, task)
        if found is None:
            raise IndexError(f"the graph has tasks 0..{len(self) - 1}, not {task}")
        return found.decode()

    def __repr__(self) -> str:
        return f"<tern.Graph of {len(self)} tasks>"
