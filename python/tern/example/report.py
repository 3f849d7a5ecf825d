# SPDX-License-Identifier: Apache-2.0
"""The report of a run as JSON, and the timeline page; docs/example-runner.md has the schema."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Dict, Optional

from .config import Config
from .options import Options
from .problem import Problem

VERSION = 1


class Report:
    """Collects; `write` may be called at any end of a run."""

    def __init__(self, options: Options) -> None:
        self._path = options.json
        self.data: Dict[str, object] = {
            "version": VERSION, "kernels": str(options.kernels), "golden": str(options.golden),
            "mode": None, "runtime": None, "nranks": None, "root": None, "rounds": None,
            "verdict": "not run", "exit_status": None, "problem": None, "seconds": {},
            "compiled": [], "runs": []}

    def config(self, config: Config, rounds: int) -> None:
        table = config.distributed
        self.data.update(mode="distributed" if table else "single", runtime=config.runtime.runtime,
                         nranks=table.nranks if table else 1, root=table.root if table else 0,
                         rounds=rounds)

    def problem(self, problem: Problem) -> None:
        self.data["problem"] = {"sentence": problem.sentence, "place": problem.place,
                                "details": problem.details}

    def add_run(self, run: dict) -> None:
        runs = self.data["runs"]
        assert isinstance(runs, list)
        runs.append(run)

    def case_problem(self, case: Optional[str], problem: Problem) -> None:
        """What ended a case, of which there are several: before its run, or behind it."""
        runs = self.data["runs"]
        assert isinstance(runs, list)
        if not runs or runs[-1]["case"] != case:
            runs.append({"case": case, "passed": False, "ranks": [], "outputs": []})
        runs[-1]["cause"] = str(problem)
        if self.data["problem"] is None:
            self.problem(problem)

    def write(self, status: int, seconds: Dict[str, float]) -> None:
        """Writes the file under another name first, so that nobody reads half of it."""
        if self._path is None:
            return
        self.data["exit_status"] = status
        self.data["seconds"] = {name: round(value, 6) for name, value in seconds.items()}
        text = json.dumps(_plain(self.data), indent=1, ensure_ascii=False, allow_nan=False)
        write_whole(self._path, text + "\n", "--json")


def _plain(value: object) -> object:
    """What JSON has no number for, as a text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def write_whole(path: Path, text: str, option: str) -> None:
    """Writes a file, or the one that a link leads to, under another name first. What is no file, as
    /dev/stdout, is written to and stays what it is."""
    temporary = None
    try:
        if path.exists() and (not path.is_file() or path.parts[1] in ("dev", "proc")):
            with open(os.open(path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8",
                      errors="surrogateescape") as file:
                file.write(text)
            return
        path = Path(os.path.realpath(path))
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        temporary.write_text(text, encoding="utf-8", errors="surrogateescape")
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None and temporary.exists():
            temporary.unlink()
        raise Problem(f"cannot write {path}: {error.strerror}", option) from None


def check_writable(options: Options) -> None:
    """Says before a run that its results would have no place."""
    for option, path in (("--json", options.json), ("--trace", options.trace),
                         ("--timeline", options.timeline)):
        if path is None:
            continue
        if path.is_dir():
            raise Problem(f"{path} is a folder", option)
        if not path.parent.is_dir() and not (options.savetemp == path.parent):
            raise Problem(f"there is no folder {path.parent}", option)
        if path.parent.is_dir() and not os.access(path.parent, os.W_OK):
            raise Problem(f"the folder {path.parent} cannot be written", option)


def write_timeline(trace: Path, page: Optional[Path], title: str) -> None:
    """The page of a trace, if both are there."""
    if page is None or not trace.is_file():
        return
    try:
        from tern.timeline import write_page
    except ImportError as error:
        raise Problem(f"pages need tern.timeline: {error}", "--timeline") from None
    try:
        write_page(str(trace), str(page), title)
    except (OSError, ValueError) as error:
        raise Problem(f"cannot write {page}: {error}", "--timeline") from None
