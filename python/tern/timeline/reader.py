# SPDX-License-Identifier: Apache-2.0
"""Reads a Chrome trace as `tern run --trace` writes it into columns.

Known are slices (X), pairs of begin and end that may overlap (b, e), arrows (s, f), notes (i),
percentages over time (C, as simulated runs have) and names (M). What else a trace may have is counted
and left out. Times become whole nanoseconds.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any, Dict, List, NamedTuple, Tuple, Union

Place = Tuple[Any, Any]  # a process and a thread, as the trace numbers them


class TraceError(Exception):
    """A trace that cannot be read; the text is a sentence for the user."""


class Event(NamedTuple):
    """A slice or a pair: `start` and `duration` in ns, `what` and `args` numbers of the tables."""

    start: int
    duration: int
    what: int
    args: int


class Arrow(NamedTuple):
    """From a moment of one place to a moment of another, in ns; `name` is a number of a table."""

    to: Place
    to_ns: int
    source: Place
    from_ns: int
    name: int


class Trace:
    """What a trace holds. Lists of events have the order of the file."""

    def __init__(self) -> None:
        self.processes: Dict[Any, Dict[str, Any]] = {}  # pid -> name, order, label
        self.threads: Dict[Place, str] = {}  # in the order in which the file names them
        self.slices: Dict[Place, List[Event]] = {}
        self.pairs: Dict[Place, List[Event]] = {}
        self.arrows: List[Arrow] = []
        self.counters: Dict[Tuple[Any, str], List[Tuple[int, float]]] = {}  # (pid, name) -> (ns, %)
        self.whats: Dict[Tuple[str, str], int] = {}  # (name, category) -> number
        self.args: Dict[str, int] = {"{}": 0}  # JSON of the arguments -> number
        self.names: Dict[str, int] = {}  # of arrows
        self.notes: List[str] = []
        self.left_out: Counter = Counter()


class _Bad(Exception):
    """Why an event cannot be read."""


def load(path: str) -> Trace:
    """The trace in the file at `path`. Raises TraceError."""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        raise TraceError(f"cannot read '{path}': {error.strerror}") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError(
            f"'{path}' is not JSON ({error}); a trace is what 'tern run --trace FILE' writes"
        ) from error
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise TraceError(
            f"'{path}' is JSON, but not a trace: it has no list 'traceEvents'; "
            "'tern run --trace FILE' writes one"
        )
    return _read(path, events)


def _read(path: str, events: List[Any]) -> Trace:
    reader = _Reader()
    number = 0
    try:
        for number, event in enumerate(events, 1):
            if not isinstance(event, dict):
                raise _Bad("is not an object")
            take = reader.phases.get(event.get("ph"))
            if take is None:
                reader.trace.left_out[str(event.get("ph"))] += 1
            else:
                take(event)
    except _Bad as bad:
        raise TraceError(f"'{path}': event {number} {bad}") from bad
    except KeyError as missing:
        raise TraceError(f"'{path}': event {number} has no {missing}") from missing
    except (TypeError, OverflowError) as error:
        raise TraceError(f"'{path}': event {number} cannot be read: {error}") from error
    reader.finish()
    return reader.trace


class _Reader:
    """Takes one event after the other."""

    def __init__(self) -> None:
        self.trace = Trace()
        self.open: Dict[Any, Tuple[Place, int, int, int]] = {}  # pairs that have begun
        self.sources: Dict[Any, Tuple[Place, int, int]] = {}  # arrows that have begun
        self.targets: Dict[Any, Tuple[Place, int]] = {}  # and those whose end came first
        self.last_ns = 0
        self.phases = {
            "X": self.take_slice,
            "b": self.take_begin,
            "e": self.take_end,
            "s": self.take_source,
            "f": self.take_target,
            "i": self.take_note,
            "C": self.take_sample,
            "M": self.take_name,
        }

    def moment(self, event: Dict[str, Any]) -> int:
        """Its time in ns."""
        ns = _ns(event["ts"], "ts")
        self.last_ns = max(self.last_ns, ns)
        return ns

    def what(self, event: Dict[str, Any]) -> int:
        key = (str(event["name"]), str(event.get("cat") or "task"))
        whats = self.trace.whats
        return whats.setdefault(key, len(whats))

    def args(self, event: Dict[str, Any]) -> int:
        args = event.get("args")
        if not args:
            return 0
        text = json.dumps(args, separators=(",", ":"), sort_keys=True)
        return self.trace.args.setdefault(text, len(self.trace.args))

    def take_slice(self, event: Dict[str, Any]) -> None:
        start = self.moment(event)
        duration = _ns(event["dur"], "dur")
        self.last_ns = max(self.last_ns, start + duration)
        if duration < 0:
            raise _Bad("ends before it begins ('dur' is negative)")
        row = self.trace.slices.setdefault(_place(event), [])
        row.append(Event(start, duration, self.what(event), self.args(event)))

    def take_begin(self, event: Dict[str, Any]) -> None:
        place, start = _place(event), self.moment(event)
        self.open[_identity(event)] = (place, start, self.what(event), self.args(event))

    def take_end(self, event: Dict[str, Any]) -> None:
        end = self.moment(event)
        begun = self.open.pop(_identity(event), None)
        if begun is None:
            self.trace.left_out["e without b"] += 1
            return
        place, start, what, args = begun
        if end < start:
            raise _Bad("ends a pair before it begins")
        self.trace.pairs.setdefault(place, []).append(Event(start, end - start, what, args))

    def take_source(self, event: Dict[str, Any]) -> None:
        target = self.targets.pop(_identity(event), None)
        names = self.trace.names
        name = names.setdefault(str(event["name"]), len(names))
        source = (_place(event), self.moment(event), name)
        if target is None:
            self.sources[_identity(event)] = source
        else:
            self.add_arrow(source, target)

    def take_target(self, event: Dict[str, Any]) -> None:
        source = self.sources.pop(_identity(event), None)
        target = (_place(event), self.moment(event))
        if source is None:
            self.targets[_identity(event)] = target
        else:
            self.add_arrow(source, target)

    def add_arrow(self, source: Tuple[Place, int, int], target: Tuple[Place, int]) -> None:
        self.trace.arrows.append(Arrow(target[0], target[1], source[0], source[1], source[2]))

    def take_note(self, event: Dict[str, Any]) -> None:
        place, start = _place(event), self.moment(event)
        self.trace.threads.setdefault(place, f"thread {place[1]}")
        process = self.trace.processes.get(place[0], {}).get("name", f"process {place[0]}")
        text = f"{process}, {self.trace.threads[place]}: {event['name']}"
        self.trace.notes.append(f"{text} (at {start / 1e9:.6f} s)")

    def take_sample(self, event: Dict[str, Any]) -> None:
        args = event.get("args")
        percent = args.get("percent") if isinstance(args, dict) else None
        if percent is None:
            self.trace.left_out["C"] += 1
            return
        percent = min(100.0, max(0.0, _number(percent, "percent")))
        key = (event["pid"], str(event["name"]))
        hash(key)
        self.trace.counters.setdefault(key, []).append((self.moment(event), percent))

    def take_name(self, event: Dict[str, Any]) -> None:
        args = event.get("args")
        value = args.get if isinstance(args, dict) else {}.get
        process = self.trace.processes.setdefault(event["pid"], {})
        if event["name"] == "process_name":
            process["name"] = str(value("name"))
        elif event["name"] == "process_labels":
            process["label"] = str(value("labels"))
        elif event["name"] == "process_sort_index":
            process["order"] = _number(value("sort_index"), "sort_index")
        elif event["name"] == "thread_name":
            self.trace.threads[_place(event)] = str(value("name"))

    def finish(self) -> None:
        """What is still open ends where the trace does; places without a name get one."""
        trace = self.trace
        for place, start, what, args in self.open.values():
            row = trace.pairs.setdefault(place, [])
            row.append(Event(start, self.last_ns - start, what, args))
        if self.open:
            trace.notes.append(f"{len(self.open)} events had not ended when the trace did")
        if self.sources or self.targets:
            trace.left_out["half of an arrow"] += len(self.sources) + len(self.targets)
        for place in [*trace.slices, *trace.pairs]:
            trace.threads.setdefault(place, f"thread {place[1]}")
        for arrow in trace.arrows:
            for place in (arrow.to, arrow.source):
                trace.threads.setdefault(place, f"thread {place[1]}")
        for pid, _ in [*trace.threads, *trace.counters]:
            trace.processes.setdefault(pid, {})
        for pid, process in trace.processes.items():
            process.setdefault("name", f"process {pid}")
        for phase, count in sorted(trace.left_out.items()):
            trace.notes.append(f"{count} events of kind '{phase}' are not shown")


def _place(event: Dict[str, Any]) -> Place:
    place = (event["pid"], event["tid"])
    hash(place)
    return place


def _identity(event: Dict[str, Any]) -> Any:
    """What the two halves of a pair or an arrow have in common."""
    return (event.get("cat"), event["id"])


def _number(value: Any, key: str) -> Union[int, float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _Bad(f"has {json.dumps(value)[:40]} as '{key}', where a number belongs")
    return value


def _ns(value: Any, key: str) -> int:
    """Microseconds, with decimals, as whole nanoseconds."""
    ns = round(_number(value, key) * 1000)
    if abs(ns) > 1 << 53:
        raise _Bad(f"has a '{key}' beyond what a trace can hold")
    return ns


_ROLES = ("host", "orchestrator", "scheduler", "AIC", "AIV")


def row_order(name: str) -> Tuple[Any, ...]:
    """A key that sorts the rows of a rank: host first, then who controls, then cores by number."""
    role = re.sub(r"\s*\d+$", "", name)
    known = _ROLES.index(role) if role in _ROLES else len(_ROLES)
    parts = [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]
    return (known, parts)
