# SPDX-License-Identifier: Apache-2.0
"""The folder of a run: objects, the files of each rank's buffers, logs.

    artifacts/NAME.so        the orchestration and kernel-FUNC_ID.so
    data/rank_R/NAME.bin     inputs before the run, outputs after it
    logs/rank-R.log          what each rank has printed

A temporary folder has a file that its runner holds a lock on, so the next run sees which folders
are of runners that were killed, and removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Optional

from .dtypes import SIZES, storage
from .interrupts import deferred
from .problem import Problem

if TYPE_CHECKING:
    import numpy


_PARTS = ("artifacts", "data", "logs", "objects")
_MARK = ".tern-example"
_PREFIX = "tern-example-"
_LOCK = "lock"


def sweep(parent: str) -> None:
    """Removes this user's temporary folders whose runner is dead."""
    try:
        found = [entry.path for entry in os.scandir(parent) if entry.name.startswith(_PREFIX)
                 and entry.is_dir(follow_symlinks=False)
                 and entry.stat(follow_symlinks=False).st_uid == os.geteuid()]
    except OSError:
        return
    for folder in found:
        try:
            with open(os.path.join(folder, _LOCK), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass  # its runner lives, or has not come to make the lock


class Workspace:
    """A context manager: a temporary folder that goes at the end, or one that stays (`keep`).

    The temporary folder is made in `parent`; None: where such folders are.
    """

    def __init__(self, keep: Optional[Path], parent: Optional[str] = None) -> None:
        self._keep = keep
        self._parent = parent
        self._lock: Optional[int] = None
        self.folder = Path()

    def __enter__(self) -> "Workspace":
        try:
            with deferred():
                self._make()
            return self
        except OSError as error:
            raise Problem(f"cannot make the folder {error.filename or tempfile.gettempprefix()}: "
                          f"{error.strerror}", "--savetemp" if self._keep else None) from None
        except BaseException:
            self.__exit__()
            raise

    def _make(self) -> None:
        if self._keep is None:
            parent = self._parent or tempfile.gettempdir()
            sweep(parent)
            self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            self._hold()
        else:
            self._clear(self._keep)
            self.folder = self._keep
        for name in _PARTS:
            (self.folder / name).mkdir()

    def _hold(self) -> None:
        """Nobody finds the lock before it is held."""
        name = self.folder / f".{_LOCK}"
        self._lock = os.open(name, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # a file system without locks: nobody will remove the folder
        os.rename(name, self.folder / _LOCK)

    def _clear(self, folder: Path) -> None:
        """Removes what a run before has left, and nothing that is not of one."""
        folder.mkdir(parents=True, exist_ok=True)
        mark = folder / _MARK
        there = [name for name in _PARTS if os.path.lexists(folder / name)]
        if there and not mark.exists():
            raise Problem(f"there is {folder / there[0]}, which is not of a run before; select an "
                          "empty folder", "--savetemp")
        mark.touch()
        for name in there:
            shutil.rmtree(folder / name)

    def __exit__(self, *error: object) -> None:
        with deferred():
            if self.folder.is_absolute():  # else it was never made
                shutil.rmtree(self.folder / "objects", ignore_errors=True)
                if self._keep is None:
                    shutil.rmtree(self.folder, ignore_errors=True)
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None

    @property
    def artifacts(self) -> Path:
        return self.folder / "artifacts"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def objects(self) -> Path:
        return self.folder / "objects"

    def file(self, rank: int, name: str) -> Path:
        return self.data / f"rank_{rank}" / f"{name}.bin"

    def write(self, rank: int, name: str, data: bytes) -> None:
        path = self.file(rank, name)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)

    def prepare(self, nranks: int) -> None:
        """Folders for all ranks, also for those without inputs."""
        for rank in range(nranks):
            os.makedirs(self.data / f"rank_{rank}", exist_ok=True)


def read_output(path: Path, dtype: str, count: int) -> "numpy.ndarray | str":
    """The elements that a rank has saved, or the sentence that says why there are none."""
    import numpy

    try:
        data = path.read_bytes()
    except OSError:
        return "the rank has saved nothing"
    wanted = count * SIZES[dtype][0]
    if len(data) != wanted:
        return f"the rank has saved {len(data)} bytes instead of {wanted}"
    return numpy.frombuffer(data, dtype=storage(dtype))
