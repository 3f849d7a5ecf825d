# SPDX-License-Identifier: Apache-2.0
"""Objects that have been compiled before, found by the content of all that they were made of.

A *key* is a hash of the source's path and text, the command and the compiler. Under it are up to
four *records*: the files that the compiler read with the hashes of their contents, names that it
looked for in vain, and the object's hash. A record holds when all of that is as it was. Both
records and objects are written under a name of their own and renamed, so runs at the same time see
a file whole or not at all; an object that does not have its hash any more is not used.

The least recently used objects go when there are more than LIMIT bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path
from typing import Dict, Iterable, List, Optional, Sequence

LIMIT = 256 << 20
_RECORDS = 4
_FORMAT = 1


def default_folder() -> Optional[Path]:
    """None: the user has no home."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = base if os.path.isabs(base) else os.path.join(os.path.expanduser("~"), ".cache")
    return Path(root) / "tern" if os.path.isabs(root) else None


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Hashes:
    """Hashes of files, each looked at once: for one run."""

    def __init__(self) -> None:
        self._known: Dict[str, Optional[str]] = {}

    def of(self, path: str) -> Optional[str]:
        """None: the file is not there."""
        if path not in self._known:
            try:
                with open(path, "rb") as file:
                    self._known[path] = hash_of(file.read())
            except (OSError, ValueError):  # a name with a NUL
                self._known[path] = None
        return self._known[path]


def read_depends(path: Path) -> List[str]:
    """The files in a rule that the compiler wrote for make, absolute, each once."""
    text = path.read_text(errors="surrogateescape").replace("\\\n", " ").split("\n", 1)[0]
    words, word, place = [], "", text.find(": ") + 2
    while place <= len(text):
        c = text[place:place + 1]
        if c == "\\" and text[place + 1:place + 2] in (" ", "#", ":"):
            word += text[place + 1]
            place += 1
        elif c == "$" and text[place + 1:place + 2] == "$":
            word += "$"
            place += 1
        elif c in (" ", "\n", "\t", ""):
            words += [word] if word else []
            word = ""
        else:
            word += c
        place += 1
    return list(dict.fromkeys(os.path.abspath(name) for name in words))


def absent_names(depends: Iterable[str], folders: Sequence[str]) -> List[str]:
    """Where a file would be found instead of one of `depends`, if it were made: the last one to
    four parts of each path, in each of the folders that are searched first."""
    names = set()
    for path in depends:
        parts = path.split(os.sep)
        for count in range(1, min(5, len(parts))):
            tail = os.sep.join(parts[-count:])
            names.update(os.path.join(folder, tail) for folder in folders)
    return sorted(name for name in names if not os.path.exists(name))


class Cache:
    """Compiled objects in a folder; every error of the file system is a miss, and never an
    object. A folder that others can write to is not used: what is in it will run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._stored = False

    def find(self, key: str, hashes: Hashes) -> Optional[bytes]:
        """The object that was compiled of what is there at this moment, or None."""
        for record in self._records(key):
            if not all(hashes.of(path) == hash for path, hash in record["depends"].items()):
                continue
            if any(os.path.lexists(name) for name in record["absent"]):
                continue
            path = self.folder / f"{record['object']}.so"
            try:
                data = path.read_bytes()
                if hash_of(data) != record["object"]:
                    continue
                os.utime(path)
                os.utime(self.folder / f"{key}.json")
                return data
            except (OSError, ValueError):
                continue
        return None

    def store(self, key: str, depends: Dict[str, str], absent: List[str], data: bytes) -> None:
        record = {"depends": depends, "absent": absent, "object": hash_of(data)}
        others = [one for one in self._records(key) if one["depends"] != depends]
        text = json.dumps({"format": _FORMAT, "records": [record] + others[:_RECORDS - 1]})
        self._write(f"{record['object']}.so", data)
        self._write(f"{key}.json", text.encode())
        self._stored = True

    def _is_safe(self) -> bool:
        about = os.stat(self.folder)
        return about.st_uid == os.geteuid() and about.st_mode & 0o022 == 0

    def _records(self, key: str) -> List[dict]:
        try:
            if not self._is_safe():
                return []
            found = json.loads((self.folder / f"{key}.json").read_bytes())
            records = found["records"] if found["format"] == _FORMAT else []
            for record in records:
                record["depends"].items()
                if not all(isinstance(name, str) for name in [*record["absent"], record["object"]]):
                    return []
            return list(records)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return []

    def _write(self, name: str, data: bytes) -> None:
        temporary = self.folder / f"{name}.{os.getpid()}.{time.monotonic_ns()}.tmp"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_bytes(data)
            os.replace(temporary, self.folder / name)
        except OSError:
            try:
                temporary.unlink()
            except OSError:
                pass

    def trim(self, limit: int = LIMIT) -> None:
        """Removes what was used longest ago until the rest fits, if anything was stored; and what a
        killed run has left of its writing."""
        if not self._stored:
            return
        files = []
        try:
            entries = list(os.scandir(self.folder))
        except OSError:
            return
        for entry in entries:
            try:
                about = entry.stat()
            except OSError:
                continue
            if entry.name.endswith(".tmp"):
                if time.time() - about.st_mtime > 3600:
                    _remove(entry.path)
            elif entry.name.endswith((".so", ".json")):
                files.append((about.st_mtime, about.st_size, entry.path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= limit:
                break
            _remove(path)
            total -= size


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
