# SPDX-License-Identifier: Apache-2.0
"""The command line of the example runner."""

from __future__ import annotations

import argparse
import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import List, Optional, Tuple

from .buffers import MOST_RANKS
from .config import MOST_ROUNDS, NAME
from .output import COMMAND, LEVELS

PLATFORMS = ("a2a3", "a2a3sim", "a5", "a5sim")


@dataclass(frozen=True)
class Options:
    """Paths are absolute."""

    kernels: Path
    golden: Path
    nranks: Optional[int]
    platform: Optional[str]
    case: Optional[str]
    run_all: bool
    rounds: Optional[int]
    savetemp: Optional[Path]
    skip_golden: bool
    level: str
    timeout: float  # seconds that the ranks may take
    json: Optional[Path]
    trace: Optional[Path]
    timeline: Optional[Path]
    cache: bool
    verify: Optional[object]  # "all", "root" or a list of ranks, in place of the config's
    hosts: Optional[str]  # as of `tern run --hosts`: None: all ranks are on this machine
    agent: Optional[str]


def _count(most: int):  # type: ignore[no-untyped-def]
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
        if not 1 <= number <= most:
            raise argparse.ArgumentTypeError(f"it must be 1 to {most}, not {number}")
        return number
    return read


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
    if not (math.isfinite(number) and 0 < number <= 1e6):
        raise argparse.ArgumentTypeError(f"it must be more than 0 seconds, not {text}")
    return number


def _device(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of a device")
    return int(text)


def read_list(text: str) -> List[int]:
    """0,1,3 or 4-7 or both; each once."""
    numbers: List[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        begin, end = _device(first), _device(last if dash else first)
        if begin > end or end - begin >= 4096:
            raise argparse.ArgumentTypeError(f"'{part}' is no range")
        numbers += range(begin, end + 1)
    if len(set(numbers)) != len(numbers):
        raise argparse.ArgumentTypeError(f"'{text}' names a number twice")
    return numbers


def _range(text: str) -> List[int]:
    if "-" not in text or "," in text:
        raise argparse.ArgumentTypeError(f"'{text}' is no range, as 4-7 is")
    return read_list(text)


def _verify(text: str) -> object:
    return text if text in ("all", "root") else read_list(text)


def _ranks_of(hosts: str) -> Optional[int]:
    """How many ranks a list of hosts has; None when it is none. `tern run` reads it closely."""
    total = 0
    for entry in hosts.split(","):
        found = re.fullmatch(r"(?:\[[^\[\]]+\]|[^:\[\]]+)(?::([0-9]{1,6}))?", entry)
        if found is None or found[1] is not None and int(found[1]) == 0:
            return None
        total += int(found[1] or 1)
    return total


def _hosts(text: str) -> str:
    total = _ranks_of(text)
    if total is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no list of hosts, as a:2,b:2 is")
    if total > MOST_RANKS:
        raise argparse.ArgumentTypeError(f"'{text}' are {total} ranks; there are at most "
                                         f"{MOST_RANKS}")
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=COMMAND, allow_abbrev=False,
        description="Compiles a folder of kernels, runs it on n ranks and verifies the results.",
        epilog="Exit status: 0 when verified (with --skip-golden: when run), 1 when not, 2 wrong "
               "usage, 128 + n ended by signal n.")
    add = parser.add_argument
    add("-k", "--kernels", required=True, metavar="FOLDER", help=f"the folder with {NAME}")
    add("-g", "--golden", required=True, metavar="FILE", help="inputs and expected outputs")
    add("--nranks", type=_count(MOST_RANKS), metavar="N", help="ranks, in place of the config's")
    add("--hosts", type=_hosts, metavar="LIST", help="ranks on several machines: a:2,b:2")
    add("--agent", metavar="CMD", help="with --hosts: what runs a command on a host (ssh)")
    add("-n", "--rounds", type=_count(MOST_ROUNDS), metavar="K", help="runs, each from its inputs")
    cases = parser.add_mutually_exclusive_group()
    cases.add_argument("--case", metavar="NAME", help="this one of ALL_CASES")
    cases.add_argument("--all", action="store_true", help="all of ALL_CASES")
    add("--verify", type=_verify, metavar="RANKS",
        help="whose outputs: all, root or 0,2; in place of the config's")
    add("--skip-golden", action="store_true", help="run, and compare nothing")
    add("--timeout", type=_seconds, default=60.0, metavar="S",
        help="seconds that the ranks may take (60); the golden: ten times as many")
    add("--json", metavar="FILE", help="write a report")
    add("--trace", metavar="FILE", help="write what all ranks did, for Perfetto")
    add("--timeline", metavar="FILE", help="write it as a page for a browser")
    add("--enable-profiling", action="store_true", help="--trace swimlane.json")
    add("--savetemp", metavar="FOLDER", help="keep objects, data and logs there")
    add("--no-cache", action="store_true", help="compile everything, keep nothing")
    add("-v", "--verbose", action="store_true", help="--log-level debug")
    add("--silent", action="store_true", help="--log-level error")
    add("--log-level", choices=LEVELS, metavar="LEVEL", help="error, warn, info (default) or debug")
    devices = parser.add_mutually_exclusive_group()
    devices.add_argument("--devices", type=read_list, metavar="LIST",
                         help="0,1,3 or 4-7: as many ranks; the numbers have no effect")
    devices.add_argument("--device-range", type=_range, metavar="A-B", help="the same for a range")
    add("-d", "--device", type=_device, metavar="D", help="has no effect")
    add("-p", "--platform", choices=PLATFORMS, metavar="NAME",
        help="a2a3, a2a3sim, a5 or a5sim, for PTO_PLATFORM in the config; no other effect")
    add("-c", "--pto-isa-commit", metavar="COMMIT", help="has no effect")
    add("--clone-protocol", choices=("ssh", "https"), metavar="NAME", help="has no effect")
    return parser


def _nranks(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> Optional[int]:
    for option, devices in (("--devices", asked.devices), ("--device-range", asked.device_range)):
        if devices is None:
            continue
        if len(devices) > MOST_RANKS:
            parser.error(f"{option} names {len(devices)} devices; there are at most {MOST_RANKS} "
                         "ranks")
        if asked.nranks not in (None, len(devices)):
            parser.error(f"{option} names {len(devices)} devices, but --nranks is {asked.nranks}")
        return _agreed(parser, asked, len(devices))
    return _agreed(parser, asked, asked.nranks)


def _agreed(parser: argparse.ArgumentParser, asked: argparse.Namespace,
            nranks: Optional[int]) -> Optional[int]:
    """With --hosts, the sum of its ranks."""
    if asked.hosts is None:
        if asked.agent is not None:
            parser.error("--agent is for --hosts")
        return nranks
    total = _ranks_of(asked.hosts)
    if nranks not in (None, total):
        parser.error(f"--hosts {asked.hosts} are {total} ranks, not {nranks}")
    return total


def _level(parser: argparse.ArgumentParser, asked: argparse.Namespace) -> str:
    levels = [level for level, given in (("debug", asked.verbose), ("error", asked.silent),
                                         (asked.log_level, asked.log_level is not None)) if given]
    if len(set(levels)) > 1:
        parser.error("-v, --silent and --log-level say different levels")
    return levels[0] if levels else "info"


def _path(text: Optional[str]) -> Optional[Path]:
    return Path(os.path.abspath(text)) if text is not None else None


def parse_options(arguments: List[str]) -> Tuple[Options, List[str]]:
    """The options, and sentences about flags that were given and have no effect.

    Prints and raises SystemExit for wrong usage (2) and --help (0).
    """
    parser = _parser()
    asked = parser.parse_args(arguments)
    for name in ("kernels", "golden", "savetemp", "json", "trace", "timeline"):
        if getattr(asked, name) == "":  # else the folder where the command runs
            parser.error(f"argument --{name}: it is empty")
    idle = [f"{flag} has no effect: {why}" for flag, value, why in (
        ("-c", asked.pto_isa_commit, "tern's own headers are used"),
        ("--clone-protocol", asked.clone_protocol, "nothing is cloned"),
        ("-d", asked.device, "ranks are processes of this machine")) if value is not None]
    kernels = Path(os.path.abspath(asked.kernels))
    if kernels.name == NAME and kernels.is_file():
        kernels = kernels.parent
    trace = asked.trace
    if asked.enable_profiling and trace is None:
        trace = os.path.join(asked.savetemp or "", "swimlane.json")
    return Options(
        kernels, Path(os.path.abspath(asked.golden)), _nranks(parser, asked), asked.platform,
        asked.case, asked.all, asked.rounds, _path(asked.savetemp), asked.skip_golden,
        _level(parser, asked), asked.timeout, _path(asked.json), _path(trace),
        _path(asked.timeline), not asked.no_cache, asked.verify, asked.hosts, asked.agent), idle
