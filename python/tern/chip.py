# SPDX-License-Identifier: Apache-2.0
"""Chips: threads of this process that run task graphs (include/tern/graph.h)."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, List, Optional

from . import _enums, _errors, _layouts
from ._library import lib
from ._memory import Use, end_uses
from .graph import Graph, _Base
from .window import deadline_ns

if TYPE_CHECKING:
    from .comm import Comm

_ORCHESTRATION = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


_left: List[Any] = []  # what kernels that never return may still use


def _end_all(end: Callable[[int], int], handle: int, launched: List[Any]) -> int:
    """Waits for what still runs; `launched` lives until here."""
    status = end(handle)
    if status != 0:
        uses = [use for one in launched for use in getattr(one, "_uses", [one])]
        _left.append([*launched, *(use.memory for use in uses if isinstance(use, Use))])
    for one in launched:
        if isinstance(one, _Base):
            end_uses(one._uses)
    end_uses(launched)
    launched.clear()
    return status


def orchestration(graph: _Base, build: Callable[..., Any],
                  given: Callable[[Any], Iterable[Any]] = lambda _: ()) -> Any:
    """A C function that calls build(graph, *given(arg)). What that raises fails the run."""

    def run(handle: int, arg: Any) -> int:
        graph._handle = handle
        graph._orchestrated = True
        try:
            build(graph, *given(arg))
            return 0
        except BaseException as error:
            graph._raised.append(error)
            text = _errors.text_of(error)
            own = isinstance(error, _errors.Error)
            graph.give_up(text if own else f"{type(error).__name__}: {text}")
            return getattr(error, "status", _errors.status_number("TERN_ERR_STATE"))
        finally:
            graph._orchestrated = False

    return _ORCHESTRATION(run)


class Runs:
    """What chips and nodes have in common: a handle, the runs that were launched, and their end."""

    _WHAT, _SYNCHRONIZE = "chip", "tern_chip_synchronize"

    def __init__(self, handle: int, comm: Optional["Comm"], end: Callable[[int], int]) -> None:
        self._handle = handle
        self.comm = comm
        self._lock = threading.Lock()
        self._launched: List[Any] = []  # graphs and orchestrations of runs that may not have ended
        self._close = weakref.finalize(self, _end_all, end, handle, self._launched)
        if comm is not None:
            comm._users.add(self)

    def _live(self) -> int:
        if not self._close.alive:
            raise _errors.make(_errors.status_number("TERN_ERR_STATE"),
                               f"the {self._WHAT} is closed")
        return self._handle

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """The handle, while no other thread is in a call."""
        if not self._lock.acquire(False):
            raise _errors.make(_errors.status_number("TERN_ERR_STATE"),
                               f"another thread is in a call of this {self._WHAT}, or this is a "
                               "part of its run; one at a time")
        try:
            yield self._live()
        finally:
            self._lock.release()

    def synchronize(self) -> None:
        """Waits until all launches have ended. KernelError: a kernel failed, and what came after
        its task did not run; TimeoutError names the tasks that ran or waited, with the signals;
        PeerError a rank that died. Where Python raised, that is the error's __cause__. Ctrl-C ends
        the run. Then runs can be launched again."""
        with self._alone() as handle:
            launched = [one for one in self._launched if isinstance(one, _Base)]
            try:
                _errors.check(getattr(lib(), self._SYNCHRONIZE)(handle))
            except _errors.Error as error:
                # A kernel may not have returned, so all stays until a run has gone well.
                raised = [one for graph in launched for one in graph._raised]
                for graph in launched:
                    graph._raised.clear()
                raise error from (raised[0] if raised else None)
            finally:
                end_uses(self._launched)
                for graph in launched:
                    end_uses(graph._uses)
            for graph in launched:
                graph._ran()
            self._launched.clear()

    def close(self) -> None:
        """Ends the threads, after what still runs. TimeoutError names a kernel that never returns.
        May be called again."""
        if self._close.alive:
            status = self._close()
            self._close.detach()
            _errors.check(status)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self.close()
        except _errors.Error:
            if kind is None:  # else the first error is the one to see
                raise


class Chip(Runs):
    """A chip with cores of two kinds, AIC and AIV, that take tasks in the order in which they
    become ready.

        with tern.Chip(comm, aic=2, aiv=2) as chip:
            chip.run(graph)

    comm: its graphs may wait for signals of peers, and its failures are theirs; None: a chip
    alone. aic, aiv: cores, together up to 256; both None: one of each. timeout: seconds that a run
    may take; math.inf: any; None: the communicator's deadline. Used by one thread at a time.
    """

    def __init__(self, comm: Optional["Comm"] = None, *, aic: Optional[int] = None,
                 aiv: Optional[int] = None, timeout: Optional[float] = None) -> None:
        options = _layouts.ChipOptions(aic or 0, aiv or 0, deadline_ns(timeout))
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_chip_create(comm.handle if comm is not None else None,
                                             ctypes.byref(options), ctypes.byref(handle)))
        Runs.__init__(self, handle.value, comm, lib().tern_chip_destroy)

    def cores(self, core: str) -> int:
        """Cores of a kind, "aic" or "aiv"; clusters for "mix"."""
        return lib().tern_chip_cores(self._live(), _enums.number("tern_core", core, "core"))

    def launch(self, graph: Graph) -> None:
        """Queues a run of a graph and returns. It starts when the launches before it have ended."""
        if not isinstance(graph, Graph):
            raise _errors.argument_error("launch: a graph from tensors has no tasks before it "
                                         "runs; orchestrate runs it")
        with self._alone() as handle:
            uses: List[Use] = []
            try:
                for one in list(graph._windows.values()):
                    uses.append(Use(one._use()))
                _errors.check(lib().tern_chip_launch(handle, graph._handle))
            except BaseException:
                end_uses(uses)
                raise
            self._launched += [graph, *uses]

    def orchestrate(self, graph: _Base, build: Callable[[Any], Any], *,
                    build_first: bool = False) -> None:
        """Queues a run in which build(graph), on a thread of the chip, adds or submits the tasks;
        they start meanwhile, or (build_first) when it has returned. A Graph has not run before; a
        TensorGraph may run often. What build raises fails the run."""
        function = orchestration(graph, build)
        options = _layouts.OrchestrateOptions(build_first)
        with self._alone() as handle:
            _errors.check(lib().tern_chip_orchestrate(handle, graph._handle, function, None,
                                                      ctypes.byref(options)))
            self._launched += [graph, function]

    def run(self, graph: Graph) -> None:
        """launch and synchronize."""
        self.launch(graph)
        self.synchronize()

    @property
    def code(self) -> str:
        """The name of the last failed run's error in include/tern/graph_code.def, such as
        "HEAP_RING_DEADLOCK"; or "NONE"."""
        return lib().tern_graph_code_name(lib().tern_chip_code(self._live())).decode()

    def __repr__(self) -> str:
        of = "alone" if self.comm is None else f"of {self.comm!r}"
        cores = "closed"
        if self._close.alive:
            cores = f"{self.cores('aic')} AIC, {self.cores('aiv')} AIV"
        return f"<tern.Chip {of}: {cores}>"
