# SPDX-License-Identifier: Apache-2.0
"""Starts the ranks: `tern run -n N -- tern example rank ...`, and says how each has ended.

On several machines, `tern run --hosts`; all of them see the folder of the run.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Tuple

from .build import Built
from .config import Config
from .data import Workspace
from .interrupts import deferred
from .problem import Problem

TAIL = 5
_PR_SET_PDEATHSIG = 1
EXIT_TIMEOUT = 124


@dataclass
class RankEnd:
    rank: int
    passed: bool
    exit_code: Optional[int]  # None: it was ended with the job
    tail: List[str] = field(default_factory=list)


@dataclass
class Outcome:
    status: int
    cause: str  # the launcher's sentence
    ranks: List[RankEnd]

    @property
    def passed(self) -> bool:
        return self.status == 0


def find_tern() -> Path:
    """The command `tern` that this package belongs to, absolute."""
    wanted = os.environ.get("TERN_COMMAND")
    package = Path(os.path.abspath(__file__)).parents[2]  # the folder that has tern/
    build = os.environ.get("TERN_BUILD_DIR")
    places = [Path(wanted)] if wanted else [
        *([Path(build) / "bin" / "tern"] if build else []),
        package.parents[2] / "bin" / "tern",  # PREFIX/lib/tern/python
        package.parent / "build" / "release" / "bin" / "tern"]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return Path(os.path.realpath(place))
    found = None if wanted else shutil.which("tern")
    if found is None:
        raise Problem("there is no command 'tern'; put it on PATH, or set TERN_COMMAND to it"
                      if not wanted else f"there is no command '{wanted}'",
                      "TERN_COMMAND" if wanted else None)
    return Path(os.path.realpath(found))


def common_words(config: Config, built: Built, space: Workspace, rounds: int) -> List[str]:
    """The part of a rank's command line that both sorts of folders have; stores the objects."""
    (space.artifacts / "orchestration.so").write_bytes(built.orchestration.data)
    runtime = config.runtime
    words = ["--artifact-dir", str(space.artifacts), "--data-dir", str(space.data),
             "--orch-file", "orchestration.so", "--orch-func", config.orchestration.function_name]
    if config.orchestration.config_name is not None:
        words += ["--config-func", config.orchestration.config_name]
    words += ["--runtime", runtime.runtime, "--aicpu-thread-num", str(runtime.aicpu_thread_num),
              "--block-dim", str(runtime.block_dim), "--orch-thread-num",
              str(runtime.orch_thread_num), "--rounds", str(rounds)]
    for kernel, job in built.kernels:
        name = f"kernel-{kernel.func_id}.so"
        (space.artifacts / name).write_bytes(job.data)
        words += ["--kernel-bin", f"{kernel.func_id}:{name}",
                  "--kernel-name", f"{kernel.func_id}:{kernel.name}"]
    return words


def distributed_words(config: Config) -> List[str]:
    """The buffers and arguments of a DISTRIBUTED_CONFIG."""
    table = config.distributed
    assert table is not None
    words = ["--nranks", str(table.nranks), "--root", str(table.root), "--win-sync-prefix",
             str(table.win_sync_prefix)]
    for buffer in table.buffers:
        option = "--win-buffer" if buffer.placement == "window" else "--dev-buffer"
        words += [option, f"{buffer.name}:{buffer.dtype}:{buffer.count}"]
    for option, names in (("--load", table.inputs), ("--save", table.outputs),
                          ("--arg", table.args)):
        for name in names:
            words += [option, name]
    return words


def environment(config: Config, timeout: float) -> Dict[str, str]:
    """Of the ranks: a wait inside tern gives up before the launcher does, so it can say for
    what; a chip takes 2 s more to give up a kernel that does not return."""
    variables = dict(os.environ)
    room = min(timeout / 2, max(3.0, timeout / 5))
    variables.setdefault("TERN_TIMEOUT", f"{timeout - room:g}")
    variables.update(config.environment)
    return variables


@dataclass(frozen=True)
class Place:
    """Where the ranks run, and the variables that go to other machines with them."""

    nranks: int
    hosts: Optional[str] = None  # as of `tern run --hosts`
    agent: Optional[str] = None
    carried: Tuple[str, ...] = ()

    def words(self) -> List[str]:
        if self.hosts is None:
            return ["-n", str(self.nranks)]
        words = ["--hosts", self.hosts]
        if self.agent is not None:
            words += ["--agent", self.agent]
        for name in self.carried:
            words += ["--env", name]
        return words


def run_ranks(tern: Path, place: Place, words: List[str], space: Workspace, timeout: float,
              variables: Dict[str, str], trace: Optional[Path],
              progress: Callable[[], None]) -> Outcome:
    """Runs the job; returns when nothing of it is left, also when a signal ends this process."""
    command = [str(tern), "run", *place.words(), "--output", str(space.logs),
               "--timeout", f"{timeout:g}"]
    if trace is not None:
        command += ["--trace", str(trace)]
    command += ["--", str(tern), "example", "rank", *words]
    with open(space.logs / "launcher.log", "wb") as log:
        process = None
        try:
            with deferred():
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=log, env=variables,
                                           preexec_fn=_ends_with_parent())
            status = _wait(process, progress, timeout)
        finally:
            if process is not None:
                _end(process)
    text = (space.logs / "launcher.log").read_text(errors="replace")
    outcome = _outcome(status, text, place.nranks, space)
    if place.hosts is not None and "No such file or directory" in outcome.cause:
        outcome.cause += (f"; every host must see the folder {space.folder}: --savetemp selects "
                          "one")
    return outcome


def _ends_with_parent() -> Callable[[], None]:
    """For the launcher between fork and exec: SIGTERM when this process is killed, so no rank
    stays."""
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def arrange() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:  # killed already
            os._exit(EXIT_TIMEOUT)

    return arrange


def _wait(process: subprocess.Popen, progress: Callable[[], None], timeout: float) -> int:
    """The exit status. The launcher keeps the deadline; this is the one for a stopped launcher."""
    last = time.monotonic() + timeout + 30
    while True:
        try:
            return process.wait(0.1)
        except subprocess.TimeoutExpired:
            progress()
            if time.monotonic() > last:
                return EXIT_TIMEOUT


def _end(process: subprocess.Popen) -> None:
    """Ends the launcher, which ends its ranks. A second Ctrl-C must not leave them."""
    if process.poll() is not None:
        return
    with deferred():
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _outcome(status: int, text: str, nranks: int, space: Workspace) -> Outcome:
    own = [line for line in text.splitlines() if line.startswith("tern run: ")]
    others = [line for line in text.splitlines() if line.strip()]
    cause = own[0][len("tern run: "):] if own else others[-1] if others and status else ""
    culprit = re.match(r"rank (\d+) (?:\(on [^)]*\) )?(?:exited with status|was killed by signal) (\d+)", cause)
    ends = []
    for rank in range(nranks):
        lines = _lines(space.logs / f"rank-{rank}.log")
        done = any(line == f"[rank {rank}] Done" for line in lines[-TAIL:])
        if culprit and int(culprit[1]) == rank:
            code = int(culprit[2]) + (128 if "signal" in culprit[0] else 0)
            ends.append(RankEnd(rank, False, code, lines[-TAIL:]))
            cause += _last_words(rank, lines) if "status" in culprit[0] else ""
        else:
            passed = status == 0 or done
            code = 0 if passed else EXIT_TIMEOUT if status == EXIT_TIMEOUT else None
            ends.append(RankEnd(rank, passed, code, lines[-TAIL:]))
    if status != 0 and all(end.passed for end in ends):  # as when a communicator had failed
        ends = [RankEnd(end.rank, False, status, end.tail) for end in ends]
    if status == EXIT_TIMEOUT:
        cause += _cause_of_timeout(space, nranks)
    if status != 0 and not cause:
        cause = (f"tern run was killed by signal {-status}" if status < 0 else
                 f"tern run ended with status {status}")
    return Outcome(status, cause, ends)


def _last_words(rank: int, lines: List[str]) -> str:
    """The sentence that a rank ends with when it fails, or refuses its command line."""
    said = lines[-1] if lines else ""
    for begin in (f"[rank {rank}] ", "tern example rank: "):
        if said.startswith(begin):
            return f": {said[len(begin):].partition('; see ')[0]}"
    return ""


def _cause_of_timeout(space: Workspace, nranks: int) -> str:
    """What the communicator has failed of, as where a kernel runs that cannot be ended."""
    for rank in range(nranks):
        for line in _lines(space.logs / f"rank-{rank}.log"):
            found = re.search(r"communicator \d+ has failed: TERN_ERR_[A-Z]+: (.*)", line)
            if found:
                return f": {found[1]}"
    return ""


def _lines(path: Path) -> List[str]:
    """The last lines of a log, of any size."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 65536))
            return file.read().decode(errors="replace").splitlines()[-4 * TAIL:]
    except OSError:
        return []
