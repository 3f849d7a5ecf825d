# SPDX-License-Identifier: Apache-2.0
"""The simulator: how long a plan or a program takes on a topology, and where the time goes, without
such a machine (docs/simulator.md).

    found = tern.sim(Plan.make("all_reduce", "mesh:8", 64 << 20), "mesh:8")
    found.time_us, found.busbw_GBps, found.uses["name"][0]

    table = tern.sim_sizes("all_reduce", "mesh:8", [1 << 10, 1 << 20, 1 << 30])
    table["algbw_GBps"]
"""

from __future__ import annotations

import ctypes
import os
import tempfile
import weakref
from functools import cached_property
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from . import _enums, _errors, _layouts
from ._library import lib
from .plan import Plan, kind_number
from .topo import Topology, as_handle

Path = Union[str, os.PathLike]


class Program:
    """A plan that nobody stores: it makes each op when that is reached, for up to 65536 ranks. Of
    few ranks it can be made a plan, which is proved and run."""

    def __init__(self, algorithm: str, nranks: int, bytes: int, *, kind: str = "all_reduce",
                 unit: int = 4, group: int = 0, piece: int = 0) -> None:
        """algorithm: one of `Program.algorithms()`. group: of the hierarchical ones, how many ranks
        share a host. piece: of the tree and the chain, in bytes; 0: 1 MiB. ArgumentError says what
        is not possible."""
        request = _layouts.ProgramRequest(
            kind=kind_number(kind), nranks=nranks, bytes=bytes, unit=unit,
            algorithm=_errors.name_bytes("algorithm", algorithm), group=group, piece_bytes=piece)
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_program_create(ctypes.byref(request), ctypes.byref(handle)))
        self._made_of = (algorithm, nranks, bytes, kind, unit, group, piece)
        self._handle = handle.value
        self._close = weakref.finalize(self, lib().tern_program_destroy, self._handle)

    @staticmethod
    def algorithms() -> List[Tuple[str, str]]:
        """The name of each, and what it is, in a line."""
        found: List[Tuple[str, str]] = []
        while True:
            name = lib().tern_program_name(len(found))
            if name is None:
                return found
            found.append((name.decode(), lib().tern_program_text(len(found)).decode()))

    @property
    def nranks(self) -> int:
        """How many ranks it is for."""
        return self._made_of[1]

    @property
    def bytes(self) -> int:
        """Of the larger buffer."""
        return self._made_of[2]

    @property
    def algorithm(self) -> str:
        """What makes its ops."""
        return self._made_of[0]

    def plan(self) -> Plan:
        """The same as a plan; LimitError and ArgumentError say why there is none."""
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_program_plan(self._handle, ctypes.byref(handle)))
        return Plan(handle.value)

    def __reduce__(self):
        return _program, self._made_of

    def __repr__(self) -> str:
        return f"<tern.Program {self.algorithm} of {self.bytes} bytes for {self.nranks} ranks>"


def _program(algorithm, nranks, bytes, kind, unit, group, piece):
    return Program(algorithm, nranks, bytes, kind=kind, unit=unit, group=group, piece=piece)


class Loss(NamedTuple):
    """Where time could have been won, on the way from the bound to the time, on the link or
    resource whose bytes take longest; in us. All together are the time."""

    bound_us: float  # 0 when nobody knows
    load_us: float  # it carries more than the bound asks for
    before_us: float  # it has nothing to do yet
    slow_us: float  # it has flows, but less than its rate
    idle_us: float  # it has no flows, between two
    after_us: float  # it has nothing to do any more


def _records(structure, call) -> numpy.ndarray:
    """All that a call gives by index, as a structured array; text is str."""
    raw, found = structure(), bytearray()
    names = [name for name, _ in structure._fields_]
    sizes = {name: ctypes.sizeof(kind) for name, kind in structure._fields_
             if issubclass(kind, ctypes.Array)}
    in_memory = numpy.dtype({
        "names": names, "itemsize": ctypes.sizeof(structure),
        "formats": [f"S{sizes[name]}" if name in sizes else kind
                    for name, kind in structure._fields_],
        "offsets": [getattr(structure, name).offset for name in names]})
    index = 0
    while call(index, ctypes.byref(raw)):
        found += bytes(raw)
        index += 1
    table = numpy.frombuffer(bytes(found), dtype=in_memory)
    return table.astype([(name, f"U{sizes[name]}" if name in sizes else in_memory[name])
                         for name in names])


class Simulation:
    """What was found. Times are in us, rates in GB/s: 10^9 bytes a second.

    uses: an entry for each link and resource that carried something, the one whose bytes take
    longest first: name, from, to (-1 of a resource), GBps, bytes, least_us (bytes over rate),
    busy_us, first_us, last_us. path: the critical path, step by step: op, rank, lane, index,
    begin_us, end_us, start_us (latency in it), what (held it back). parts: that by what it waited
    for: what, us, steps.
    """

    def __init__(self, handle: int, nranks: int) -> None:
        """Of the library's own handle, which then belongs to this object; programs use tern.sim."""
        self._handle = handle
        self._close = weakref.finalize(self, lib().tern_sim_destroy, handle)
        self.nranks = nranks
        facts = _layouts.SimFacts.from_address(lib().tern_sim_get_facts(handle))
        self.time_us: float = facts.time_us  # when the last rank ended; infinite: one never does
        self.algbw_GBps: float = facts.algbw_GBps
        self.busbw_GBps: float = facts.busbw_GBps
        # No plan takes less, and why; None when nobody knows, or it was not asked for.
        self.bound_us: Optional[float] = facts.bound_us if facts.bound_us >= 0 else None
        self.bound_text: str = facts.bound_text.decode()
        self.ops: int = facts.ops
        self.flows: int = facts.flows
        self.events: int = facts.events
        self.wall_s: float = facts.wall_s  # what the simulation itself took
        # How far the trace goes: infinite when it holds everything, 0 without one; and its events.
        self.traced_us: float = facts.traced_us
        self.traced: int = facts.traced
        stuck = lib().tern_sim_stuck(handle)
        self.stuck: Optional[str] = stuck.decode() if stuck is not None else None

    @cached_property
    def ranks_us(self) -> numpy.ndarray:
        """When each rank ended; infinite when it never does."""
        return numpy.array([lib().tern_sim_rank_us(self._handle, rank)
                            for rank in range(self.nranks)])

    @cached_property
    def uses(self) -> numpy.ndarray:
        """What links and resources carried."""
        return _records(_layouts.SimUse,
                        lambda index, raw: lib().tern_sim_get_use(self._handle, index, raw))

    @cached_property
    def path(self) -> numpy.ndarray:
        """The critical path; empty when it was not kept, or a rank never ends."""
        steps = _records(_layouts.SimStep,
                         lambda index, raw: lib().tern_sim_get_step(self._handle, index, raw))
        words = numpy.array(_enums.words("tern_plan_op_kind"))
        others = steps.dtype.names[1:]
        fields = [("op", words.dtype)] + [(name, steps.dtype[name]) for name in others]
        path = numpy.empty(len(steps), fields)
        path["op"] = words[steps["kind"]]
        for name in others:
            path[name] = steps[name]
        return path

    @cached_property
    def parts(self) -> numpy.ndarray:
        """The critical path by what it waited for, the largest part first."""
        return _records(_layouts.SimPart,
                        lambda index, raw: lib().tern_sim_get_part(self._handle, index, raw))

    @property
    def loss(self) -> Optional[Loss]:
        """Where time was lost; None when nothing was carried, or a rank never ends."""
        raw = _layouts.SimLoss()
        there = lib().tern_sim_get_loss(self._handle, ctypes.byref(raw))
        return Loss(*(getattr(raw, name) for name in Loss._fields)) if there else None

    def __repr__(self) -> str:
        part = 100 * self.bound_us / self.time_us if self.bound_us else 0
        bound = f", {part:.1f} % of it the bound" if part else ""
        return (f"<tern.Simulation of {self.nranks} ranks: {self.time_us:.3f} us{bound}, algbw "
                f"{self.algbw_GBps:.3f} GB/s>")


def _options(memory: float, machine_memory: float, copy: float,
             reduce: Union[float, Sequence[float]], op_us: float, jitter: float, seed: int,
             fail: Union[str, Iterable[str]], path: bool, bound: bool, trace: Optional[Path],
             trace_events: int, shared: Dict[str, float]) -> _layouts.SimOptions:
    rates = (reduce,) * 4 if isinstance(reduce, (int, float)) else tuple(reduce)
    if len(rates) != 4:
        raise _errors.argument_error(f"reduce: {len(rates)} rates; it takes one, or one each for "
                                     "elements of 1, 2, 4 and 8 bytes")
    fails = [fail] if isinstance(fail, str) else list(fail)
    if len(fails) > _layouts.SIM_FAILS_MAX:
        raise _errors.argument_error(f"fail: more than {_layouts.SIM_FAILS_MAX} links")
    return _layouts.SimOptions(
        memory_GBps=memory, machine_memory_GBps=machine_memory, copy_GBps=copy,
        reduce_GBps=(ctypes.c_double * 4)(*rates), op_us=op_us, jitter=jitter, seed=seed,
        fails=(ctypes.c_char_p * _layouts.SIM_FAILS_MAX)(
            *(_errors.name_bytes("fail", link) for link in fails)),
        fails_count=len(fails), without_path=not path, without_bound=not bound,
        trace=_errors.path_bytes("trace", trace) if trace is not None else None,
        trace_events=trace_events,
        **shared)


def sim(what: Union[Plan, Program], topo: Union[Topology, str], *, memory: float = 0,
        machine_memory: float = 0, copy: float = 0, reduce: Union[float, Sequence[float]] = 0,
        op_us: float = 0, jitter: float = 0, seed: int = 0,
        fail: Union[str, Iterable[str]] = (), path: bool = True, bound: bool = True,
        trace: Optional[Path] = None, timeline: Optional[Path] = None, trace_events: int = 0,
        processors: int = 0, fresh: float = 0, begin_us: float = 0, meet_us: float = 0,
        post_us: float = 0, wake_us: float = 0) -> Simulation:
    """Simulates a plan, or a program, on a topology of as many ranks.

    memory, machine_memory: GB/s that the ops of a rank, of a machine, share for what they read and
    write in their rank's own memory; 0: that takes no time. copy, reduce: of that, what one op
    reaches; reduce also as four rates, of elements of 1, 2, 4 and 8 bytes. op_us: before each copy
    and reduce. jitter: flows take up to 1 + jitter times as long, by chance, the same for the same
    seed. fail: links that fail, such as "0-1@100" (us). path, bound: whether these are worked out.
    trace: a file for the run, for Perfetto; timeline: for a page (docs/timeline.md); both hold up
    to trace_events events. processors: of a machine, whose ranks are processes that share them and
    memory (docs/simulator.md, tern_sim_options), with fresh in GB/s and the times of a begin, a
    meeting, a post and a wake-up; 0: it is none. ArgumentError names the op that cannot be.
    """
    topo = as_handle(topo)
    if not isinstance(what, (Plan, Program)):
        raise _errors.argument_error(f"sim: {what!r} is neither a Plan nor a Program")
    own_trace = None
    if timeline is not None and trace is None:
        file, own_trace = tempfile.mkstemp(prefix="tern-sim-", suffix=".json")
        os.close(file)
    try:
        options = _options(memory, machine_memory, copy, reduce, op_us, jitter, seed, fail, path,
                           bound, own_trace or trace, trace_events,
                           {"processors": processors, "fresh_GBps": fresh, "begin_us": begin_us,
                            "meet_us": meet_us, "post_us": post_us, "wake_us": wake_us})
        run = lib().tern_sim_run if isinstance(what, Plan) else lib().tern_sim_run_program
        handle = ctypes.c_void_p()
        _errors.check(run(what._handle, topo._handle, ctypes.byref(options),
                          ctypes.byref(handle)))
        found = Simulation(handle.value, topo.size)
        if timeline is not None:
            from .timeline import write_page
            title = f"{what.algorithm}, {what.bytes} bytes, on {topo}: simulated"
            write_page(os.fspath(own_trace or trace), os.fspath(timeline), title)
        return found
    finally:
        if own_trace is not None:
            os.unlink(own_trace)


def sim_sizes(kind: str, topo: Union[Topology, str], sizes: Iterable[int],
              algorithms: Union[None, str, Iterable[str]] = None, *, generated: bool = False,
              unit: int = 4, root: int = 0, order: Optional[str] = None, group: int = 0,
              piece: int = 0, **options: Any) -> numpy.ndarray:
    """Simulates a kind in several sizes, and with several algorithms: a structured array with a row
    for each: bytes, algorithm, time_us, algbw_GBps, busbw_GBps, bound_us (NaN: not known).

    algorithms: names, or one; None: the quickest of each size. generated: they are those of
    programs (group, piece), which above 1024 ranks they always are. options: those of tern.sim.
    """
    topo = as_handle(topo)
    names = [algorithms] if algorithms is None or isinstance(algorithms, str) else list(algorithms)
    rows = []
    for size in sizes:
        for name in names:
            if generated or topo.size > 1024:
                if name is None:
                    raise _errors.argument_error("sim_sizes: which program? Program.algorithms() "
                                                 "lists them")
                what = Program(name, topo.size, size, kind=kind, unit=unit, group=group,
                               piece=piece)
            else:
                what = Plan.make(kind, topo, size, unit=unit, root=root, order=order,
                                 algorithm=name)
            found = sim(what, topo, **{"path": False, **options})
            bound_us = numpy.nan if found.bound_us is None else found.bound_us
            rows.append((size, what.algorithm, found.time_us, found.algbw_GBps, found.busbw_GBps,
                         bound_us))
    return numpy.array(rows, [("bytes", "u8"), ("algorithm", "U40"), ("time_us", "f8"),
                              ("algbw_GBps", "f8"), ("busbw_GBps", "f8"), ("bound_us", "f8")])
