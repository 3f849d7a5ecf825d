# SPDX-License-Identifier: Apache-2.0
"""Writes a trace as a page: the files of the folder `page`, and the events as columns, in one file.

A column is a list of whole numbers in the LEB128 way (7 bits a byte, the lowest first, the highest
bit says that more follow), as base64. Starts are differences to the event before in their row, ends
of arrows to the arrow before in their row; what may be negative is folded to 0, -1, 1, -2, ...
"""

from __future__ import annotations

import base64
import html
import json
import os
import pathlib
import tempfile
from typing import Any, Dict, Iterable, List, Optional

from .reader import Event, Place, Trace, TraceError, load, row_order

_PAGE = pathlib.Path(__file__).resolve().parent / "page"
# In the order in which they need each other.
_SCRIPTS = (
    "data lane counter model time stats path search theme layout view paint marks overview "
    "tables panel pointer keys app main"
).split()


def write_page(trace_path: str, page_path: str, title: Optional[str] = None) -> None:
    """Writes the page of the trace at `trace_path` to `page_path`, replacing what is there.

    title: what stands above the timeline; None: the name of the trace's file.
    Raises TraceError when the trace cannot be read or the page cannot be written.
    """
    trace = load(trace_path)
    name = os.path.basename(trace_path)
    text = make_page(pack(trace, name), title or name)
    _replace(page_path, text.encode("utf-8", "replace"))


def make_page(data: Dict[str, Any], title: str) -> str:
    """The page; `data` is what pack() made."""
    text = (_PAGE / "page.html").read_text(encoding="utf-8")
    scripts = "\n".join((_PAGE / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS)
    values = {
        "title": html.escape(title),
        "style": (_PAGE / "page.css").read_text(encoding="utf-8"),
        # No end tag and no comment can begin inside a script without this character.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "script": scripts,
    }
    first, *rest = text.split("{{")
    parts = [first]
    for part in rest:
        key, _, after = part.partition("}}")
        parts += [values[key], after]
    return "".join(parts)


def pack(trace: Trace, file_name: str) -> Dict[str, Any]:
    """What the page's data.js reads."""
    pids = sorted(
        trace.processes, key=lambda pid: (trace.processes[pid].get("order", 0), repr(type(pid)), pid)
    )
    nth = {pid: number for number, pid in enumerate(pids)}
    places = sorted(trace.threads, key=lambda at: (nth[at[0]], row_order(trace.threads[at])))
    rows = {place: number for number, place in enumerate(places)}
    slices = {at: sorted(trace.slices.get(at, []), key=_outer_first) for at in places}
    pairs = {at: sorted(trace.pairs.get(at, []), key=_outer_first) for at in places}
    return {
        "file": file_name,
        "processes": [
            {"name": trace.processes[pid]["name"], "label": trace.processes[pid].get("label", "")}
            for pid in pids
        ],
        "rows": [
            [nth[at[0]], trace.threads[at], len(slices[at]), len(pairs[at])] for at in places
        ],
        "whats": [list(key) for key in trace.whats],
        "args": [json.loads(text) for text in trace.args],
        "arrowNames": list(trace.names),
        "notes": trace.notes,
        "events": _events(row for at in places for row in (slices[at], pairs[at])),
        "arrows": _arrows(trace, rows),
        "counters": _counters(trace, nth),
    }


def _outer_first(event: Event) -> Any:
    return (event.start, -event.duration)


def _events(lists: Iterable[List[Event]]) -> Dict[str, Any]:
    starts: List[int] = []
    rest: List[Event] = []
    for events in lists:
        before = 0
        for event in events:
            starts.append(_fold(event.start - before))
            before = event.start
        rest += events
    return {
        "count": len(rest),
        "start": _column(starts),
        "duration": _column(event.duration for event in rest),
        "what": _column(event.what for event in rest),
        "args": _column(event.args for event in rest),
    }


def _arrows(trace: Trace, rows: Dict[Place, int]) -> Dict[str, Any]:
    arrows = sorted(
        (rows[arrow.to], arrow.to_ns, rows[arrow.source], arrow.from_ns, arrow.name)
        for arrow in trace.arrows
    )
    times = []
    row_before, before = 0, 0
    for arrow in arrows:
        before = before if arrow[0] == row_before else 0
        times.append(_fold(arrow[1] - before))
        row_before, before = arrow[0], arrow[1]
    return {
        "count": len(arrows),
        "toRow": _column(arrow[0] for arrow in arrows),
        "to": _column(times),
        "fromRow": _column(arrow[2] for arrow in arrows),
        "back": _column(_fold(arrow[1] - arrow[3]) for arrow in arrows),
        "name": _column(arrow[4] for arrow in arrows),
    }


def _counters(trace: Trace, nth: Dict[Any, int]) -> Dict[str, Any]:
    """Shares are in 1/1000 %."""
    keys = sorted(trace.counters, key=lambda key: (nth[key[0]], row_order(key[1])))
    times: List[int] = []
    shares: List[int] = []
    for key in keys:
        before = 0
        for ns, percent in sorted(trace.counters[key], key=lambda sample: sample[0]):
            times.append(_fold(ns - before))
            shares.append(round(percent * 1000))
            before = ns
    return {
        "list": [[nth[pid], name, len(trace.counters[pid, name])] for pid, name in keys],
        "time": _column(times),
        "share": _column(shares),
    }


def _fold(number: int) -> int:
    return number << 1 if number >= 0 else (-number << 1) - 1


def _column(numbers: Iterable[int]) -> str:
    out = bytearray()
    add = out.append
    for number in numbers:
        while number > 127:
            add(number & 127 | 128)
            number >>= 7
        add(number)
    return base64.b64encode(out).decode("ascii")


def _replace(path: str, data: bytes) -> None:
    """Writes a file beside its place and moves it there, so that no half of a page is ever seen."""
    folder = os.path.dirname(os.path.abspath(path))
    temporary = None
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # /dev/stdout, or a folder
            with open(path, "wb") as file:
                file.write(data)
            return
        handle, temporary = tempfile.mkstemp(prefix=".timeline-", dir=folder)
        with open(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        raise TraceError(f"cannot write '{path}': {error.strerror}") from error
