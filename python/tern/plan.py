# SPDX-License-Identifier: Apache-2.0
"""Plans: a collective of one kind, rank count and size as data, which is read, written by hand,
made by an algorithm, printed, proved (check.py) and run (execute.py). include/tern/plan.h says what
a plan means.

    plan = Plan.make("all_reduce", "mesh:4", 1 << 20)
    plan.prove("mesh:4")                     # CheckError says what is wrong, and which op
    out = plan.run(comm, x)                  # on arrays

    build = PlanBuilder("broadcast", nranks=2, bytes=64)
    build.copy(0, "0.in+0", ["0.out+0", "1.out+0"], 64)
    build.post(0, peer=1, signal=0)
    build.wait(1, signal=0)
    plan = build.seal()
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
import time
import weakref
from typing import (TYPE_CHECKING, Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence,
                    Tuple, Union)

from . import _enums, _errors, _layouts, _text
from ._library import lib
from .topo import Topology, as_handle

if TYPE_CHECKING:
    import numpy

    from .check import Check
    from .comm import Comm
    from .execute import PlanRun
    from .simulate import Simulation

ATOMIC = 1  # TERN_PLAN_ATOMIC
OPTIMAL = "optimal"  # TERN_ALGO_OPTIMAL
_OPERAND = re.compile(r"([0-9]+)\.(in|out|scratch)\+([0-9]+)")


class Range(NamedTuple):
    """Where an operand begins; its length is the op's. str() is the form of plan files."""

    rank: int
    buffer: str  # "in", "out" or "scratch"
    offset: int  # bytes

    @classmethod
    def parse(cls, text: str) -> "Range":
        """Of "RANK.BUFFER+OFFSET", such as "0.in+4096"."""
        found = _OPERAND.fullmatch(text)
        if found is None:
            raise _errors.argument_error(f"'{text}' is no operand: RANK.BUFFER+OFFSET, such as "
                                         "0.in+4096, BUFFER is in, out or scratch")
        return cls(int(found[1]), found[2], int(found[3]))

    def __str__(self) -> str:
        return f"{self.rank}.{self.buffer}+{self.offset}"


Operand = Union[Range, Tuple[int, str, int], str]
Operands = Union[Operand, Sequence[Operand]]


class Op(NamedTuple):
    """An op of a lane, as plan files have it: str() is its line there."""

    kind: str  # "copy", "reduce", "post" or "wait"
    round: int = 0
    length: int = 0  # bytes of each operand; of copy and reduce
    sources: Tuple[Range, ...] = ()
    destinations: Tuple[Range, ...] = ()
    atomic: bool = False  # of reduce
    peer: int = 0  # of post: whose signal
    signal: int = 0  # of post and wait
    count: int = 0  # of wait: how often it must have been posted in this run

    def __str__(self) -> str:
        if self.kind == "post":
            return f"post @{self.round} rank {self.peer} signal {self.signal}"
        if self.kind == "wait":
            return f"wait @{self.round} signal {self.signal} count {self.count}"
        atomic = " atomic" if self.atomic else ""
        sources = " ".join(map(str, self.sources))
        destinations = " ".join(map(str, self.destinations))
        return f"{self.kind} @{self.round} {self.length}{atomic} : {sources} -> {destinations}"


class Algorithm(NamedTuple):
    """An algorithm that makes plans of a kind."""

    name: str
    text: str  # what it is, in a line
    in_place: bool  # its plans are right in place, too
    around_cut: bool  # for topologies in which a pair of ranks has no link
    across_machines: bool  # for topologies with several machines


class ResourceUse(NamedTuple):
    """What crosses a resource that links share."""

    name: str
    bytes: int
    us: float  # what they take


class Summary(NamedTuple):
    """What a plan costs on a topology; the fields of tern_summary. str() is the page of `tern plan
    --summary`."""

    rounds: int
    ops: int
    copies: int
    reduces: int
    posts: int
    waits: int
    missing: int  # transfers and posts over links that there are not
    scratch_bytes: int
    links: int
    link_bytes: int
    busiest_bytes: int
    busiest_from: int
    busiest_to: int
    mean_bytes: float
    busiest_us: float
    estimate_us: float
    bound_us: float
    reached: float
    machines: int  # 0: the topology says nothing of machines
    resources: int  # that links share, ports of machines among them; 0: each link is alone
    busiest_resource: Optional[ResourceUse]  # whose bytes take longest; None: there is none
    bound_text: str
    text: str

    def __str__(self) -> str:
        return self.text


def kind_number(kind: str) -> int:
    """The number of a kind that plans can have; ArgumentError lists the words."""
    number, word = ctypes.c_int(), _errors.name_bytes("kind", kind)
    _errors.check(lib().tern_plan_kind_parse(word, ctypes.byref(number)))
    return number.value


def algorithms(kind: str) -> List[Algorithm]:
    """The algorithms of a kind, as `tern plan KIND --list` has them."""
    number, found = kind_number(kind), []
    while True:
        i = len(found)
        name = lib().tern_algo_name(number, i)
        if name is None:
            return found
        found.append(Algorithm(name.decode(), lib().tern_algo_text(number, i).decode(),
                               lib().tern_algo_in_place(number, i),
                               lib().tern_algo_around_cut(number, i),
                               lib().tern_algo_across_machines(number, i)))


def _range(text: "ctypes.Array") -> Tuple[Range, ...]:
    return tuple(Range(r.rank, _enums.word("tern_plan_buffer", r.buffer), r.offset) for r in text)


def _search(request: Any, search: Any, handle: Any) -> None:
    """On a thread of its own when this is the main one, which Ctrl-C can then interrupt."""
    stopped: List[bool] = []
    errors: List[BaseException] = []
    search.stop = _layouts.STOP(lambda _: bool(stopped))
    request.search = ctypes.addressof(search)

    def run(_kept: Any = search) -> None:  # it lives as long as the thread, whoever is interrupted
        try:
            _errors.check(lib().tern_algo_plan(ctypes.byref(request), ctypes.byref(handle)))
        except BaseException as error:
            errors.append(error)

    if threading.current_thread() is not threading.main_thread():
        run()
    else:
        thread = threading.Thread(target=run, name="tern.Plan.make")
        try:
            thread.start()  # may be interrupted, too, with the thread on its way
            while thread.is_alive():
                thread.join(0.1)
        except BaseException:
            stopped.append(True)
            while thread in threading.enumerate():
                time.sleep(0.01)
            lib().tern_plan_destroy(handle)
            raise
    if errors:
        raise errors[0]


class Plan:
    """A sealed plan. It never changes, and any thread may use it."""

    def __init__(self, handle: int) -> None:
        """Of the library's own handle, which then belongs to this object; programs use make, load,
        parse or a PlanBuilder."""
        self._handle = handle
        self._close = weakref.finalize(self, lib().tern_plan_destroy, handle)

    @classmethod
    def make(cls, kind: str, topo: Union[Topology, str], bytes: int = 0, *, unit: int = 4,
             algorithm: Optional[str] = None, root: int = 0, order: Optional[str] = None,
             as_run: Optional[str] = None, seconds: float = 0, seed: int = 0) -> "Plan":
        """The plan of a collective for all ranks of a topology, as `tern plan` makes it.

        bytes: of the larger buffer; unit: of an element (1, 2, 4, 8). algorithm: one of
        `algorithms(kind)`; None: the quickest there. order: sums in "rank" order (the default
        without an algorithm) or "any" fixed one. as_run: what a call runs, on buffers in
        "window"s, in a "slot", "direct"ly or "staged". ArgumentError says why there is none.
        With the algorithm "optimal", or None where the others are far off what the links allow, a
        plan is searched for (docs/planner.md): for so many seconds at most (0: no limit), with this
        seed; Ctrl-C ends that. Of "optimal" StateError without GLPK, LimitError for too many ranks,
        TimeoutError when nothing was found in the time.
        """
        topo = as_handle(topo)
        wanted = order or ("any" if algorithm else "rank")
        request = _layouts.AlgoRequest(
            kind=kind_number(kind), topo=topo._handle, bytes=bytes, unit=unit, root=root,
            order=_enums.number("tern_order", wanted, "order"),
            algorithm=_errors.name_bytes("algorithm", algorithm) if algorithm else None)
        handle = ctypes.c_void_p()
        if as_run is not None:
            way = _errors.name_bytes("as_run", as_run)
            _errors.check(lib().tern_coll_plan(ctypes.byref(request), way, ctypes.byref(handle)))
        elif algorithm in (None, OPTIMAL):
            _search(request, _layouts.Search(seconds=seconds, seed=seed), handle)
        else:
            _errors.check(lib().tern_algo_plan(ctypes.byref(request), ctypes.byref(handle)))
        return cls(handle.value)

    @classmethod
    def parse(cls, text: str, name: str = "text") -> "Plan":
        """Of a text (docs/plan-format.md); errors say `name`, line, column and what was wanted."""
        handle, data = ctypes.c_void_p(), _errors.name_bytes("the text of a plan", text)
        _errors.check(lib().tern_plan_parse(data, len(data), _errors.name_bytes("name", name),
                                            ctypes.byref(handle)))
        return cls(handle.value)

    @classmethod
    def load(cls, path: Union[str, os.PathLike]) -> "Plan":
        """Of a file; errors as in parse."""
        handle = ctypes.c_void_p()
        name = _errors.path_bytes("path", path)
        _errors.check(lib().tern_plan_load(name, ctypes.byref(handle)))
        return cls(handle.value)

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the text; the file appears whole or not at all."""
        name = _errors.path_bytes("path", path)
        _errors.check(lib().tern_plan_save(self._handle, name))

    def _spec(self) -> _layouts.PlanSpec:
        return _layouts.PlanSpec.from_address(lib().tern_plan_get_spec(self._handle))

    @property
    def kind(self) -> str:
        """The kind's word, such as "all_reduce"."""
        return lib().tern_plan_kind_name(self._spec().kind).decode()

    @property
    def nranks(self) -> int:
        """How many ranks it is for."""
        return self._spec().nranks

    @property
    def bytes(self) -> int:
        """Of the larger buffer: B of include/tern/plan.h."""
        return self._spec().bytes

    @property
    def unit(self) -> int:
        """Bytes of an element."""
        return self._spec().unit

    @property
    def root(self) -> int:
        """The rank that kinds with a root begin or end at; 0 for others."""
        return self._spec().root

    @property
    def algorithm(self) -> str:
        """What made it."""
        return self._spec().algorithm.decode()

    @property
    def slots(self) -> Tuple[str, ...]:
        """The buffers that lie in slots, which only collective calls have: "in", "scratch"."""
        return tuple(word for i, word in enumerate(_enums.words("tern_plan_buffer"))
                     if self._spec().slots >> i & 1)

    @property
    def rounds(self) -> int:
        """One more than the highest round that an op has."""
        return lib().tern_plan_round_count(self._handle)

    @property
    def op_count(self) -> int:
        """Ops of all ranks."""
        return lib().tern_plan_total_ops(self._handle)

    def buffer_bytes(self, buffer: str) -> int:
        """Of "in", "out" or "scratch", on the ranks that have it."""
        number = _enums.number("tern_plan_buffer", buffer, "buffer")
        return lib().tern_plan_buffer_bytes(self._handle, number)

    def lane_count(self, rank: int) -> int:
        """Lanes of a rank: lists of ops that run in order, beside each other."""
        return lib().tern_plan_lane_count(self._handle, rank)

    def signal_count(self, rank: int) -> int:
        """One more than the highest signal of a rank that an op uses."""
        return lib().tern_plan_signal_count(self._handle, rank)

    def op(self, rank: int, lane: int, index: int) -> Op:
        """One op; ArgumentError when there is none."""
        raw = _layouts.PlanOp()
        _errors.check(lib().tern_plan_get_op(self._handle, rank, lane, index, ctypes.byref(raw)))
        return Op(_enums.word("tern_plan_op_kind", raw.kind), raw.round, raw.length,
                  _range(raw.sources[:raw.sources_count]),
                  _range(raw.destinations[:raw.destinations_count]), bool(raw.flags & ATOMIC),
                  raw.peer, raw.signal, raw.count)

    def ops(self, rank: int, lane: int = 0) -> Iterator[Op]:
        """The ops of a lane, in their order."""
        for index in range(lib().tern_plan_op_count(self._handle, rank, lane)):
            yield self.op(rank, lane, index)

    def __str__(self) -> str:
        """The text of the plan; Plan.parse of it is the same plan."""
        text, length = ctypes.c_void_p(), ctypes.c_size_t()
        _errors.check(lib().tern_plan_print(self._handle, ctypes.byref(text), ctypes.byref(length)))
        return _text.taken(text, length.value)

    def __repr__(self) -> str:
        return (f"<tern.Plan {self.kind} of {self.bytes} bytes for {self.nranks} ranks, by "
                f"{self.algorithm}: {self.op_count} ops>")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __reduce__(self):
        return Plan.parse, (str(self),)  # pickled as its text

    def summary(self, topo: Union[Topology, str, None] = None) -> Summary:
        """What it costs there; without a topology every link exists and has 1 GB/s."""
        topo, raw = topo if topo is None else as_handle(topo), _layouts.Summary()
        _errors.check(lib().tern_summary_make(self._handle, topo and topo._handle,
                                              ctypes.byref(raw)))
        page = _text.printed(lambda file: lib().tern_summary_print(ctypes.byref(raw), file))
        values = [getattr(raw, name) for name in Summary._fields[:-3]]
        busiest = raw.busiest_resource
        resource = ResourceUse(busiest.name.decode(), busiest.bytes, busiest.us)
        return Summary(*values, resource if raw.resources else None, raw.bound_text.decode(), page)

    def check(self, topo: Union[Topology, str, None] = None, in_place: bool = False) -> Check:
        """Proves it, or finds all that is wrong: a tern.Check. Without a topology every link
        exists; in_place: is it also right where `out` is the memory of `in`?"""
        from .check import Check
        return Check(self, topo if topo is None else as_handle(topo), in_place)

    def prove(self, topo: Union[Topology, str, None] = None, in_place: bool = False) -> Check:
        """The Check of a plan that is right; CheckError, with all findings, of one that is not."""
        check = self.check(topo, in_place)
        check.require()
        return check

    def sim(self, topo: Union[Topology, str], **options: Any) -> Simulation:
        """Simulates it there: a tern.Simulation. Options: those of tern.sim."""
        from .simulate import sim
        return sim(self, topo, **options)

    def prepare(self, comm: Comm, x: Any = None, out: Optional[numpy.ndarray] = None,
                op: str = "sum", **options: Any) -> PlanRun:
        """A tern.PlanRun, which runs it on arrays as often as wanted. Collective."""
        from .execute import PlanRun
        return PlanRun(comm, self, x, out, op, **options)

    def run(self, comm: Comm, x: Any = None, out: Optional[numpy.ndarray] = None,
            op: str = "sum", **options: Any) -> Optional[numpy.ndarray]:
        """Runs it once on arrays, and returns the output: prepare, run, close. Collective."""
        with self.prepare(comm, x, out, op, **options) as run:
            return run.run()


def _ranges(operands: Iterable[Operand]) -> "ctypes.Array":
    found: List[_layouts.PlanRange] = []
    for one in operands:
        rank, buffer, offset = Range.parse(one) if isinstance(one, str) else one
        if not 0 <= rank < 1 << 16 or not 0 <= offset < 1 << 64:
            raise _errors.argument_error(f"{rank}.{buffer}+{offset}: no plan has such a range")
        found.append(_layouts.PlanRange(offset, rank,
                                        _enums.number("tern_plan_buffer", buffer, "buffer")))
    return (_layouts.PlanRange * len(found))(*found)


def _several(operands: Operands) -> Tuple[Operand, ...]:
    """One operand is a string, or begins with the number of its rank."""
    one = isinstance(operands, str) or (len(operands) > 0 and isinstance(operands[0], int))
    return (operands,) if one else tuple(operands)


class PlanBuilder:
    """A plan by hand, op after op: each is appended to a lane of a rank. Operands may be
    "0.in+4096" or (0, "in", 4096). What they mean is not looked at here but by Plan.check, so wrong
    plans can be written down and refuted. Errors: ArgumentError, LimitError; StateError after seal.
    """

    def __init__(self, kind: str, nranks: int, bytes: int = 0, *, unit: int = 4, root: int = 0,
                 algorithm: str = "custom", scratch: int = 0, slots: Sequence[str] = ()) -> None:
        self._handle = None
        numbers = [_enums.number("tern_plan_buffer", word, "slots") for word in slots]
        spec = _layouts.PlanSpec(kind=kind_number(kind), nranks=nranks, bytes=bytes, unit=unit,
                                 root=root,
                                 algorithm=_errors.name_bytes("algorithm", algorithm),
                                 slots=sum(1 << number for number in set(numbers)))
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_plan_create(ctypes.byref(spec), ctypes.byref(handle)))
        self._handle = handle.value
        self._close = weakref.finalize(self, lib().tern_plan_destroy, self._handle)
        if scratch:
            self.need_scratch(scratch)

    def _live(self) -> int:
        if self._handle is None:
            raise _errors.make(_errors.status_number("TERN_ERR_STATE"), "the plan has been sealed")
        return self._handle

    def need_scratch(self, bytes: int) -> None:
        """Scratch of every rank; the largest call counts."""
        _errors.check(lib().tern_plan_need_scratch(self._live(), bytes))

    def add(self, rank: int, op: Op, lane: int = 0) -> None:
        """Appends an op as Plan.op gives it."""
        sources, destinations = _ranges(op.sources), _ranges(op.destinations)
        raw = _layouts.PlanOp(
            kind=_enums.number("tern_plan_op_kind", op.kind, "kind"),
            flags=ATOMIC if op.atomic else 0, round=op.round, length=op.length, sources=sources,
            sources_count=len(sources), destinations=destinations,
            destinations_count=len(destinations), peer=op.peer, signal=op.signal, count=op.count)
        _errors.check(lib().tern_plan_add(self._live(), rank, lane, ctypes.byref(raw)))

    def copy(self, rank: int, source: Operand, destinations: Operands, length: int, *,
             lane: int = 0, round: int = 0) -> None:
        """Rank `rank` copies a range to one or several."""
        self.add(rank, Op("copy", round, length, (source,), _several(destinations)), lane)

    def reduce(self, rank: int, sources: Operands, destinations: Operands,
               length: int, *, atomic: bool = False, lane: int = 0, round: int = 0) -> None:
        """The sum of ranges, in their order, into one or several; atomic: added to these."""
        self.add(rank, Op("reduce", round, length, _several(sources), _several(destinations),
                          atomic), lane)

    def post(self, rank: int, peer: int, signal: int = 0, *, lane: int = 0, round: int = 0) -> None:
        """Adds 1 to a signal of `peer`."""
        self.add(rank, Op("post", round, peer=peer, signal=signal), lane)

    def wait(self, rank: int, signal: int = 0, count: int = 1, *, lane: int = 0,
             round: int = 0) -> None:
        """Until a signal of `rank` has been posted `count` times in this run."""
        self.add(rank, Op("wait", round, signal=signal, count=count), lane)

    def seal(self) -> Plan:
        """The plan; this builder is then empty."""
        handle = self._live()
        _errors.check(lib().tern_plan_seal(handle))
        self._close.detach()
        self._handle = None
        return Plan(handle)
