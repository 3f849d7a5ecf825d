# SPDX-License-Identifier: Apache-2.0
"""Compiles the orchestration and the kernels of a folder, as many at a time as there are
processors.

Each source becomes a shared object by `tern kernel-cc --runtime NAME -shared`. What was compiled
before of the same text, headers, options, compiler and tern comes from the cache. The compiler's
messages name the user's files and lines; those of all sources that fail are shown.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from . import cache as store
from .config import Config, Kernel
from .elf import defined_names
from .interrupts import deferred
from .problem import Problem, nearest

# What the environment tells a compiler about where things are found.
_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH",
              "GCC_EXEC_PREFIX", "SOURCE_DATE_EPOCH", "CCC_OVERRIDE_OPTIONS")
# What an object may depend on that is in no list of files.
_VOLATILE = re.compile(rb"__has_include|__DATE__|__TIME__|__TIMESTAMP__|\.incbin|#\s*embed")
# Macros that the chips' own compiler defines by the kind of core.
_CORES = {"aic": "-D__DAV_CUBE__", "aiv": "-D__DAV_VEC__"}


@dataclass
class Job:
    """A source to compile, and what came of it."""

    source: Path
    options: Tuple[str, ...]
    wanted: str  # the function that must be in the object
    place: str  # of the function's name, for a sentence
    data: bytes = b""
    cached: bool = False
    seconds: float = 0.0
    messages: str = ""
    status: int = 0


@dataclass
class Built:
    """The objects of a folder, by what they are."""

    jobs: List[Job]
    orchestration: Job
    kernels: List[Tuple[Kernel, Job]] = field(default_factory=list)


class Builder:
    """Compiles with the command `tern`; `cache` may be None. Sub-processes end with `stop`."""

    def __init__(self, tern: Path, runtime: str, cache: Optional[store.Cache],
                 debug: Callable[[str], None]) -> None:
        self._tern = tern
        self._runtime = runtime
        self._cache = cache
        self._debug = debug
        self._start = time.time()
        self._hashes = store.Hashes()
        self._running: List[subprocess.Popen] = []
        self._lock = threading.Lock()
        self._stopped = False
        self._compiler = ""
        self._system: Tuple[str, ...] = ()

    def _identify_compiler(self) -> str:
        """What says which compiler, which tern and which of their settings."""
        words = os.environ.get("CXX", "").split() or ["g++"]
        path = shutil.which(words[0])
        if path is None:
            raise Problem(f"there is no compiler '{words[0]}'; install g++, or set CXX")
        about = os.stat(os.path.realpath(path))
        version = subprocess.run(words + ["--version"], stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False)
        settings = [f"{name}={os.environ.get(name)}" for name in _VARIABLES]
        return "\n".join([str(words), path, str(about.st_size), str(about.st_mtime_ns),
                          version.stdout.decode(errors="replace"), str(self._tern),
                          str(self._hashes.of(str(self._tern))), self._runtime] + settings)

    def run(self, jobs: Sequence[Job], folder: Path, progress: Callable[[int], None]) -> None:
        """Fills in the jobs. `folder` is for what lies between the steps."""
        self._compiler = self._identify_compiler()
        missing = []
        for job in jobs:
            began = time.monotonic()
            found = None
            if self._cache is not None:
                found = self._cache.find(self._key(job), self._hashes)
            if found is None:
                missing.append(job)
                continue
            job.data, job.cached = found, True
            job.seconds = time.monotonic() - began
            self._debug(f"cached: {job.source}")
        self._compile_all(missing, folder, progress)
        if self._cache is not None:
            self._cache.trim()

    def _compile_all(self, jobs: List[Job], folder: Path, progress: Callable[[int], None]) -> None:
        todo = list(enumerate(jobs))
        done: List[Job] = []
        errors: List[BaseException] = []

        def work() -> None:
            while True:
                with self._lock:
                    if not todo or self._stopped:
                        return
                    number, job = todo.pop(0)
                try:
                    self._compile(job, folder / f"object-{number}")
                except BaseException as error:  # told in the main thread
                    errors.append(error)
                done.append(job)

        threads = [threading.Thread(target=work, daemon=True)
                   for _ in range(min(len(jobs), len(os.sched_getaffinity(0))))]
        try:
            for thread in threads:
                thread.start()
            while any(thread.is_alive() for thread in threads):
                progress(len(done))
                for thread in threads:
                    thread.join(0.05)
        finally:
            with deferred():
                self.stop()
                for thread in threads:
                    thread.join(5)
        if errors:
            raise errors[0]

    def stop(self) -> None:
        """Ends what still compiles."""
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.terminate()

    def _command(self, job: Job) -> List[str]:
        return [str(self._tern), "kernel-cc", "--runtime", self._runtime, "-shared",
                *job.options, str(job.source)]

    def _key(self, job: Job) -> str:
        parts = [self._compiler, "\n".join(self._command(job)),
                 str(self._hashes.of(str(job.source)))]
        return store.hash_of("\0".join(parts).encode(errors="surrogateescape"))

    def _compile(self, job: Job, base: Path) -> None:
        began = time.monotonic()
        depends = base.with_suffix(".d")
        result = base.with_suffix(".so")
        command = self._command(job) + ["-MD", "-MF", str(depends), "-o", str(result)]
        self._debug(" ".join(command))
        with self._lock:
            if self._stopped:
                return
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT)
            self._running.append(process)
        text = process.communicate()[0]
        with self._lock:
            self._running.remove(process)
        job.status = process.returncode
        job.messages = text.decode(errors="replace").rstrip("\n")
        job.seconds = time.monotonic() - began
        if job.status == 0:
            job.data = result.read_bytes()
            if self._cache is not None:
                self._keep(job, depends)

    def _keep(self, job: Job, depends: Path) -> None:
        """Into the cache, if it is certain that the object is of the files as they are now."""
        assert self._cache is not None
        try:
            files = store.read_depends(depends)
        except OSError:
            return
        hashes: Dict[str, str] = {}
        folders = {str(job.source.parent)}
        folders.update(word[2:] for word in job.options if word.startswith("-I"))
        for path in files:
            try:
                about = os.stat(path)
            except OSError:
                return
            if max(about.st_mtime, about.st_ctime) > self._start - 0.02:
                return  # may have changed since it was read
            found = self._hashes.of(path)
            if found is None:
                return
            hashes[path] = found
            if not path.startswith("/usr/") and not self._is_terns(path):
                with open(path, "rb") as file:
                    if _VOLATILE.search(file.read()):
                        return
                folders.add(os.path.dirname(path))
        absent = store.absent_names(files, sorted(folders))
        self._cache.store(self._key(job), hashes, absent, job.data)

    def _is_terns(self, path: str) -> bool:
        if not self._system:
            self._system = tuple(f"{folder}/" for folder in header_folders(self._tern))
        return path.startswith(self._system)


def header_folders(tern: Path) -> List[str]:
    """Where tern's own headers are: of an installation, or of the tree that it was built in."""
    prefix = tern.parent.parent
    folders = [prefix / "include", prefix.parent.parent / "include"]
    return [str(folder) for folder in folders if (folder / "tern").is_dir()]


def isa_root(tern: Path) -> str:
    """What comm_include_dirs are relative to: $PTO_ISA_ROOT, else tern's headers of that name."""
    root = os.environ.get("PTO_ISA_ROOT")
    if root:
        return os.path.abspath(root)
    for folder in header_folders(tern):
        for name in ("tern-faces", "faces"):
            if os.path.isdir(os.path.join(folder, name)):
                return os.path.join(folder, name)
    return ""


def plan_jobs(config: Config, tern: Path, debug: Callable[[str], None]) -> Built:
    """The sources to compile, each once for its options."""
    includes: List[str] = []
    for name in config.distributed.include_dirs if config.distributed else ():
        folder = os.path.normpath(os.path.join(isa_root(tern), name))
        if os.path.isdir(folder):
            includes.append(f"-I{folder}")
        else:  # of a checkout whose headers tern has itself
            debug(f"comm_include_dirs: there is no folder {folder}; tern's headers are used")
    jobs: Dict[tuple, Job] = {}

    def job(source: Path, options: Sequence[str], wanted: str, place: str) -> Job:
        key = (source, tuple(options), wanted)
        return jobs.setdefault(key, Job(source, tuple(options), wanted, place))

    entry = config.orchestration
    orchestration = job(entry.source, includes, entry.function_name,
                        f'{entry.place}["function_name"]')
    kernels = [(kernel, job(kernel.source, [*includes, _CORES[kernel.core_type]], "kernel_entry",
                            f'{kernel.place}["source"]')) for kernel in config.kernels]
    return Built(list(jobs.values()), orchestration, kernels)


def check_built(built: Built, config: Config) -> None:
    """Says which sources do not compile, with all messages, and which functions are not there."""
    failed = [job for job in built.jobs if job.status != 0]
    if failed:
        details = "\n".join(job.messages or f"{job.source}: the compiler says nothing, exit status "
                            f"{job.status}" for job in failed)
        names = ", ".join(str(job.source) for job in failed)
        raise Problem(f"{'it does' if len(failed) == 1 else 'they do'} not compile", names, details)
    for job in built.jobs:
        _check_function(job, job.wanted, job.place)
    if config.orchestration.config_name is not None:
        _check_function(built.orchestration, config.orchestration.config_name,
                        f'{config.orchestration.place}["config_name"]')


def _check_function(job: Job, name: str, place: str) -> None:
    names = defined_names(job.data)
    if name in names:
        return
    hint = nearest(name, sorted(names))
    if any(other.startswith(f"_Z{len(name)}{name}") for other in names):
        hint = "; it lacks extern \"C\""
    elif "did you mean" not in hint:
        hint = ""
    raise Problem(f"{job.source} has no function {name}{hint}", place)
