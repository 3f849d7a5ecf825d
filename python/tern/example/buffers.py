# SPDX-License-Identifier: Apache-2.0
"""DISTRIBUTED_CONFIG as checked data: ranks, buffers, and which rank's results are verified."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from .dtypes import SIZES, check_dtype
from .fields import REQUIRED, Fields, nearest_only, whole
from .problem import Problem, listed, nearest, shown
from .usercode import run_user_code

TOKENS = ("nranks", "root", "deviceCtx")
MOST_RANKS = 64
MOST_ARGS = 128
MOST_BUFFERS = 192  # as `tern example rank` has it, and the next
MOST_ELEMENTS = (1 << 32) - 1
MOST_BYTES = 1 << 40
_FIELDS = ("nranks", "root", "comm_include_dirs", "win_sync_prefix", "buffers", "inputs", "outputs",
           "args", "verify")


@dataclass(frozen=True)
class Buffer:
    name: str
    dtype: str
    count: int  # elements
    placement: str  # "window" or "device"
    data_count: int  # how many elements, from the first, the golden knows of
    place: str

    @property
    def size_bytes(self) -> int:
        return self.count * SIZES[self.dtype][0]


@dataclass(frozen=True)
class Distributed:
    nranks: int
    root: int
    include_dirs: Tuple[str, ...]  # as written: relative to the ISA's root, or absolute
    win_sync_prefix: int  # bytes
    buffers: Tuple[Buffer, ...]
    inputs: Tuple[str, ...]
    outputs: Tuple[str, ...]
    args: Tuple[str, ...]
    verify: Dict[str, Tuple[int, ...]]  # output: the ranks that are compared
    place: str

    def buffer(self, name: str) -> Buffer:
        return next(buffer for buffer in self.buffers if buffer.name == name)


def read_distributed(value: object, place: str, folder: Path,
                     nranks: Optional[int]) -> Distributed:
    """Checks the table; `nranks` of the command line goes before its own."""
    fields = Fields(value, place, _FIELDS)
    own = fields.integer("nranks", 8, 1, MOST_RANKS)
    nranks = own if nranks is None else nranks
    root = fields.integer("root", 0, 0, None)  # type: ignore[arg-type]
    if root >= nranks:
        raise Problem(f"it is {root}; of {nranks} ranks it must be 0 to {nranks - 1}",
                      fields.at("root"))
    buffers = _read_buffers(fields, nranks, folder)
    names = [buffer.name for buffer in buffers]
    inputs = _known(fields, "inputs", names)
    outputs = _known(fields, "outputs", names)
    args = _read_args(fields, names)
    for index, name in enumerate(outputs):
        if name not in args:
            raise Problem(f"nobody writes '{name}': it is not among the args",
                          f"{fields.at('outputs')}[{index}]")
    prefix = fields.integer("win_sync_prefix", 0, 0, 1 << 30)
    size = prefix + sum(buffer.size_bytes for buffer in buffers if buffer.placement == "window")
    if size > MOST_BYTES:
        raise Problem(f"a window of {size} bytes is too large", fields.at("buffers"))
    return Distributed(nranks, root, tuple(_read_includes(fields)), prefix, tuple(buffers),
                       tuple(inputs), tuple(outputs), tuple(args),
                       read_verify(fields.raw("verify", "all"), fields.at("verify"), outputs,
                                   nranks, root), place)


def _read_includes(fields: Fields) -> List[str]:
    folders = []
    for index, item in enumerate(fields.items("comm_include_dirs", ())):
        if not isinstance(item, (str, os.PathLike)) or not str(item):
            raise Problem(f"it is {shown(item)}; it must be a folder",
                          f"{fields.at('comm_include_dirs')}[{index}]")
        folders.append(os.fspath(item))
    return folders


def _read_buffers(fields: Fields, nranks: int, folder: Path) -> List[Buffer]:
    buffers: List[Buffer] = []
    for index, value in enumerate(fields.items("buffers", REQUIRED)):
        one = Fields(value, f"{fields.at('buffers')}[{index}]",
                     ("name", "dtype", "count", "placement", "data_prefix_elems"))
        name = one.text("name")
        if name in TOKENS:
            raise Problem(f"'{name}' is a token of args and no name for a buffer", one.at("name"))
        if not is_name(name):
            raise Problem(f"it is {shown(name)}; a name has letters, digits and _, at most 63 "
                          "bytes", one.at("name"))
        if name in [buffer.name for buffer in buffers]:
            raise Problem(f"there is a buffer '{name}' before", one.at("name"))
        dtype = check_dtype(one.raw("dtype"), one.at("dtype"))
        count = one.raw("count")
        if callable(count):  # lambda nranks: 64 * nranks
            count = run_user_code(folder, one.at("count"), count, (nranks,))
        count = whole(count, one.at("count"), 1, MOST_ELEMENTS)
        buffers.append(Buffer(name, dtype, count, one.word("placement", ("window", "device")),
                              one.integer("data_prefix_elems", count, 1, count), one.place))
    if len(buffers) > MOST_BUFFERS:
        raise Problem(f"there are {len(buffers)}; a rank has at most {MOST_BUFFERS}",
                      fields.at("buffers"))
    return buffers


def is_name(name: str) -> bool:
    """Whether a name can stand in a command line and in a file's name."""
    return (0 < len(name.encode(errors="replace")) < 64 and not name.startswith((".", "-"))
            and all(c.isalnum() or c in "_-." for c in name))


def _known(fields: Fields, field: str, names: List[str]) -> List[str]:
    found = fields.names(field, ())
    for index, name in enumerate(found):
        if name not in names:
            raise Problem(f"there is no buffer '{name}'{nearest(name, names)}",
                          f"{fields.at(field)}[{index}]")
    return found


def _read_args(fields: Fields, names: List[str]) -> List[str]:
    args = []
    for index, item in enumerate(fields.items("args", ())):
        if not isinstance(item, str) or item not in (*names, *TOKENS):
            raise Problem(f"{shown(item)} is no buffer and none of the tokens {listed(TOKENS)}"
                          f"{nearest_only(item, names + list(TOKENS))}",
                          f"{fields.at('args')}[{index}]")
        args.append(str(item))
    if len(args) > MOST_ARGS:
        raise Problem(f"there are {len(args)}; an orchestration has at most {MOST_ARGS}",
                      fields.at("args"))
    return args


def read_verify(value: object, place: str, outputs: List[str], nranks: int,
                root: int) -> Dict[str, Tuple[int, ...]]:
    """"all", "root" or ranks, for all outputs; or a dict of these by output (others: all)."""
    by_output = {}
    if isinstance(value, dict):
        for name in value:
            if name not in outputs:
                raise Problem(f"there is no output {shown(name)}{nearest(name, outputs)}", place)
        for name in outputs:
            by_output[name] = _ranks(value.get(name, "all"), f'{place}["{name}"]', nranks, root)
        return by_output
    ranks = _ranks(value, place, nranks, root)
    return {name: ranks for name in outputs}


def _ranks(value: object, place: str, nranks: int, root: int) -> Tuple[int, ...]:
    if isinstance(value, str) and value in ("all", "root"):
        return tuple(range(nranks)) if value == "all" else (root,)
    if not isinstance(value, (list, tuple, set, range)):
        raise Problem(f"it is {shown(value)}; it must be 'all', 'root' or a list of ranks", place)
    ranks = sorted({whole(rank, place, 0, nranks - 1) for rank in value})
    if not ranks:
        raise Problem("it names no rank, so nothing would be verified", place)
    return tuple(ranks)
