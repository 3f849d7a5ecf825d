# SPDX-License-Identifier: Apache-2.0
"""Nodes: a host that gives work to chips, which are the other ranks of a communicator
(include/tern/node.h).

    def program(graph):
        graph.submit_to(0, "add", [In(x), In(y), OutTo(z)])     # a chip
        graph.submit_to([0, 1], "exchange", [[InOut(a)], [InOut(b)]], domains=[pair])
        graph.submit(look, [In(z)])                             # the host itself

    if comm.rank != 0:
        tern.serve(comm, {"add": kernels.add, "exchange": kernels.exchange})
    else:
        with tern.Node(comm) as node:
            node.run(program)
"""

from __future__ import annotations

import collections
import ctypes
import functools
import operator
import os
from typing import (TYPE_CHECKING, Any, Callable, Iterable, List, Mapping, Optional, Sequence, Tuple,
                    Union)

import numpy as np

from . import _dtypes, _errors, _layouts, kernels, window
from ._library import lib
from ._memory import _munmap, as_bytes
from .chip import Runs, orchestration
from .context import Context
from .graph import Graph, Wait, _Base
from .region import Region, array_at
from .submit import Submission, TensorGraph
from .window import deadline_ns

if TYPE_CHECKING:
    from .comm import Comm

HOST = -1  # TERN_NODE_HOST
Chips = Union[None, int, Sequence[int]]


class _Memory:
    """The memory of a node. When the node has ended, it stays mapped for as long as there are
    arrays."""

    def __init__(self) -> None:
        self.address = ctypes.c_void_p()
        self.size = ctypes.c_size_t()
        self._unmap = _munmap()

    def end(self, handle: int) -> int:
        """Ends the node."""
        return lib().tern_node_release(handle, ctypes.byref(self.address), ctypes.byref(self.size))

    def __del__(self) -> None:
        if self.address.value:
            self._unmap(self.address, self.size)


def _number(member: Union[int, str]) -> int:
    return HOST if member == "host" else operator.index(member)


class Domain:
    """Memory of the same size on some chips and on the host, zero at first, and a context for their
    kernels in which chips[i] is rank i. Made by Node.domain."""

    def __init__(self, node: "Node", chips: Sequence[int], size_bytes: int) -> None:
        self.chips = tuple(operator.index(chip) for chip in chips)
        self.size = size_bytes
        self._handle: Optional[int] = None
        self._memory = node._memory
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_domain_create(
            node._live(), _layouts.array_of(ctypes.c_int, self.chips, "domain: a chip"),
            len(self.chips), size_bytes, ctypes.byref(handle)))
        self._handle = handle.value

    def _live(self) -> int:
        if self._handle is None:
            raise _errors.make(_errors.status_number("TERN_ERR_STATE"), "the domain is closed")
        return self._handle

    def array(self, member: Union[int, str], shape: Union[int, Sequence[int]], dtype: Any = np.float32,
              offset: int = 0) -> np.ndarray:
        """The memory of a member (a number from 0, or "host") from a byte on as an array: to fill it,
        to look at it, and to say In, InOut and OutTo of it. It stays good when the node has ended.

        Of a chip on another machine (`is_local`) it is a name, for tasks: whoever looks at its elements
        ends the process; `read` and `write` reach them."""
        dtype = _dtypes.memory_dtype("array", dtype)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        address = self._address(member)
        size = functools.reduce(operator.mul, (int(length) for length in shape), dtype.itemsize)
        if offset < 0 or min(shape, default=1) < 0 or offset + size > self.size:
            raise _errors.argument_error(f"array: {shape} of {dtype} from byte {offset} on is not "
                                         f"inside the domain, which has {self.size} bytes")
        if offset % dtype.itemsize != 0:
            raise _errors.argument_error(f"array: byte {offset} is in the middle of a {dtype}")
        return as_bytes(self._memory, address + offset, size).view(dtype).reshape(shape)

    def _address(self, member: Union[int, str]) -> int:
        address = lib().tern_domain_address(self._live(), _number(member))
        if address is None:
            raise _errors.argument_error(_errors.last_sentence())
        return address

    def is_local(self, member: Union[int, str]) -> bool:
        """Whether a member's memory is on the host's machine."""
        window, rank, offset = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_size_t()
        _errors.check(lib().tern_window_find(self._address(member), ctypes.byref(window),
                                             ctypes.byref(rank), ctypes.byref(offset)))
        return _errors.check(lib().tern_window_is_local(window, rank)) == 1

    def write(self, member: Union[int, str], data: np.ndarray, offset: int = 0) -> None:
        """Copies an array into a member's memory, from a byte on, on whichever machine; between runs,
        or where no task uses it."""
        data = np.ascontiguousarray(data)
        _errors.check(lib().tern_domain_write(self._live(), _number(member), operator.index(offset),
                                              data.ctypes.data, data.nbytes))

    def read(self, member: Union[int, str], out: np.ndarray, offset: int = 0) -> np.ndarray:
        """Copies a member's memory into an array that is contiguous, and returns that."""
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise _errors.argument_error("read: out must be contiguous and writeable")
        _errors.check(lib().tern_domain_read(self._live(), _number(member), operator.index(offset),
                                             out.ctypes.data, out.nbytes))
        return out

    def close(self) -> None:
        """No task that is submitted from now on may use it; what has been still does. May be called
        again."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _errors.check(lib().tern_domain_destroy(handle))

    def __enter__(self) -> "Domain":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tern.Domain of chips {list(self.chips)}, {self.size} bytes>"


class NodeGraph(TensorGraph):
    """What a node's program submits tasks to. Tasks for the host, scopes and elements are those of a
    TensorGraph."""

    def __init__(self) -> None:
        _Base.__init__(self, None, owned=False)

    def submit_to(self, chips: Chips, function: str, args: Sequence[Any] = (), *,
                  domains: Iterable[Domain] = (), name: Optional[str] = None,
                  orchestrates: bool = False, after: Iterable[Union[int, Submission]] = (),
                  waits: Iterable[Wait] = ()) -> Submission:
        """Submits a task for a chip (a number), for a group of chips that start together (a list),
        or for any chip (None).

        function: a name that the chips serve, or of an object that the node has loaded (where
        `orchestrates` says that it builds a graph). args: In, InOut, OutTo and NoDep of memory of
        domains or of outputs, Out, and numbers; of a group a list of these for each chip. domains:
        the function gets their contexts behind the args. after, waits: as of TensorGraph.submit,
        with signals of the host.
        """
        where = f"task '{name or function}'"
        group = chips is not None and not hasattr(chips, "__index__")
        numbers = list(chips) if group else [] if chips is None else [chips]
        per_chip = [list(one) for one in args] if group else [list(args)]
        if group and (len(per_chip) != len(numbers) or len(set(map(len, per_chip))) > 1):
            raise _errors.argument_error(f"{where}: for {len(numbers)} chips args are {len(numbers)} "
                                         "lists of one length")
        given = [one for some in per_chip for one in some]
        rows = (_layouts.TaskArg * max(len(given), 1))()
        outputs: List[Region] = []
        kept: List[Any] = []
        for i, argument in enumerate(given):
            self._fill(rows[i], argument, f"{where}: argument {i}", outputs, kept)
        before = [after] if isinstance(after, Submission) else after
        ids = [getattr(one, "id", one) for one in before]
        waits = list(waits)
        conditions, count = window._conditions(waits)
        self._use_windows([wait[0] for wait in waits])
        handles = [domain._live() for domain in domains]
        task = _layouts.NodeTask(
            name=None if name is None else _errors.name_bytes(f"{where}: name", name),
            function=_errors.name_bytes(f"{where}: the function", function),
            orchestrates=orchestrates, chips=_layouts.array_of(ctypes.c_int, numbers, where),
            chips_count=len(numbers), args=rows, args_count=len(per_chip[0]) if per_chip else 0,
            domains=(ctypes.c_void_p * max(len(handles), 1))(*handles), domains_count=len(handles),
            after=_layouts.array_of(ctypes.c_uint64, ids, f"{where}: after"), after_count=len(ids),
            waits=ctypes.cast(conditions, ctypes.c_void_p), waits_count=count)
        number = ctypes.c_uint64()
        _errors.check(lib().tern_node_submit(self._handle, ctypes.byref(task),
                                             ctypes.byref(number)))
        self._kept += kept
        return Submission(number.value, tuple(outputs))

    def __repr__(self) -> str:
        return "<tern.NodeGraph>"


class Node(Runs):
    """The host of a node: rank 0, while all other ranks of the communicator are in tern.serve.

    window, heap: tasks in flight, and bytes for outputs, at each depth of scopes; memory: bytes for
    domains, of the host and of each chip; 0: the default. host_threads: that run the tasks for the
    host. timeout: seconds that a run may take; None: the communicator's deadline. Collective.
    """

    _WHAT, _SYNCHRONIZE = "node", "tern_node_synchronize"

    def __init__(self, comm: "Comm", *, window: int = 0, heap: int = 0, memory: int = 0,
                 host_threads: int = 1, timeout: Optional[float] = None) -> None:
        options = _layouts.NodeOptions(window=window, heap_bytes=heap, memory_bytes=memory,
                                       host_threads=host_threads,
                                       timeout_ns=deadline_ns(timeout))
        handle = ctypes.c_void_p()
        self._memory = _Memory()
        with comm._alone():
            _errors.check(lib().tern_node_create(comm.handle, ctypes.byref(options),
                                                 ctypes.byref(handle)))
        Runs.__init__(self, handle.value, comm, self._memory.end)

    @property
    def chips(self) -> int:
        """How many chips there are: 0 to this - 1; chip c is rank c + 1."""
        return lib().tern_node_chips(self._live())

    def domain(self, chips: Iterable[int], size_bytes: int) -> Domain:
        """Memory on these chips and on the host. No chip has to take part."""
        return Domain(self, list(chips), size_bytes)

    def load(self, path: Union[str, os.PathLike]) -> None:
        """Every chip opens a shared object, whose functions tasks can then name. Between runs."""
        name = os.path.abspath(_errors.path_bytes("path", path))
        with self._alone() as handle:
            _errors.check(lib().tern_node_load(handle, name))

    def launch(self, program: Callable[[NodeGraph], Any]) -> None:
        """Queues a run in which program(graph), on a thread of the node, submits the tasks. What it
        raises fails the run."""
        graph = NodeGraph()
        function = orchestration(graph, program)
        with self._alone() as handle:
            _errors.check(lib().tern_node_launch(handle, function, None))
            self._launched += [graph, function]

    def run(self, program: Callable[[NodeGraph], Any]) -> None:
        """launch and synchronize."""
        self.launch(program)
        self.synchronize()

    def __repr__(self) -> str:
        chips = f"{self.chips} chips" if self._close.alive else "closed"
        return f"<tern.Node of {chips}>"


def _arguments(words: Any) -> List[Any]:
    """Of a function in Python that a chip calls: regions as arrays, numbers, contexts."""
    said = _layouts.NodeArgs()
    if not lib().tern_node_task_args(ctypes.byref(said)):
        return []
    found: List[Any] = [array_at(words[i]) if said.is_region >> i & 1 else words[i]
                        for i in range(said.args_count)]
    return found + [Context.from_address(words[said.args_count + i])
                    for i in range(said.domains_count)]


def _builder(build: Callable[..., Any]) -> Tuple[Any, Any]:
    """A C function that lets a function of Python build a graph on this chip, and what it uses."""
    graph = TensorGraph.__new__(TensorGraph)
    _Base.__init__(graph, None, owned=False)
    words = ctypes.POINTER(ctypes.c_int64)

    def begin(*given: Any) -> None:
        graph._ran()  # what the run before has kept
        build(*given)

    function = orchestration(graph, begin, lambda arg: _arguments(ctypes.cast(arg, words)))
    return function, graph


def serve(comm: "Comm", functions: Mapping[str, Any] = {}, *, graphs: Mapping[str, Union[Callable, Graph]] = {},
          aic: Optional[int] = None, aiv: Optional[int] = None) -> None:
    """A chip of a node, on every rank but 0: does what the host asks for by name, and returns when
    the node has ended. PeerError, TimeoutError when the node fails.

    functions: kernels, of a Kernels or functions of Python, which get regions as arrays, other
    arguments as int, and contexts. graphs: for the aic and aiv cores of this chip: functions
    build(graph, *args) that submit tasks, or graphs that are whole.
    """
    rows = (_layouts.NodeFunction * max(len(functions) + len(graphs), 1))()
    kept: List[Any] = []
    raised: Any = collections.deque(maxlen=1)
    kernels.make_global()
    for row, (name, kernel) in zip(rows, functions.items()):
        row.name = _errors.name_bytes("serve: the name of a function", name)
        if isinstance(kernel, kernels.Kernel):
            row.kernel = kernel.address
        elif callable(kernel):
            kept.append(kernels.callback(kernel, _arguments, raised))
            row.kernel = ctypes.cast(kept[-1], ctypes.c_void_p).value
        else:
            raise _errors.argument_error(f"serve: '{name}' is of type {type(kernel).__name__}; it is "
                                         "one of a Kernels or a function")
    for i, (name, build) in enumerate(graphs.items(), len(functions)):
        rows[i].name = _errors.name_bytes("serve: the name of a graph", name)
        if isinstance(build, Graph):
            rows[i].graph = build._handle
            continue
        kept.append(_builder(build))
        rows[i].orchestration = ctypes.cast(kept[-1][0], ctypes.c_void_p).value
    options = _layouts.ServeOptions(functions=rows, functions_count=len(functions) + len(graphs),
                                    aic_count=aic or 0, aiv_count=aiv or 0)
    with comm._alone():
        _errors.check(lib().tern_node_serve(comm.handle, ctypes.byref(options)))
