# SPDX-License-Identifier: Apache-2.0
"""Finds libtern, loads it once, and gives its functions with their prototypes.

    from ._library import lib
    lib().tern_comm_rank(handle)

Nothing is loaded before the first lib(): `import tern` works where there is no library. A function
gets its prototype (_prototypes.py) when it is first asked for, and is an attribute from then on.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import re
import threading
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from . import _interrupt, _prototypes
from ._version import VERSION

SONAME = "libtern.so.0"
NAMES = (SONAME, "libtern.so")

WORDS = {
    "ptr": ctypes.c_void_p,
    "text": ctypes.c_char_p,
    "int": ctypes.c_int,
    "i32": ctypes.c_int32,
    "u32": ctypes.c_uint32,
    "i64": ctypes.c_int64,
    "u64": ctypes.c_uint64,
    "u8": ctypes.c_uint8,
    "size": ctypes.c_size_t,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
    "none": None,
}

# Numbers that C has room for: ctypes would take the low bits of any other.
LIMITS = {
    "int": (-(1 << 31), 1 << 31),
    "i32": (-(1 << 31), 1 << 31),
    "i64": (-(1 << 63), 1 << 63),
    "u8": (0, 1 << 8),
    "u32": (0, 1 << 32),
    "u64": (0, 1 << 64),
    "size": (0, 1 << 64),
}

_LINE = re.compile(r"(\w+) (\w+)\((.*)\)")


class LibraryError(ImportError):
    """libtern cannot be found or loaded; the sentence says where it was looked for."""


def prototypes() -> Dict[str, Tuple[str, Tuple[str, ...]]]:
    """The table: name of a function to (result, arguments), as words of _prototypes.py."""
    table = {}
    for lines in _prototypes.HEADERS.values():
        for line in filter(None, map(str.strip, lines.splitlines())):
            result, name, arguments = _LINE.fullmatch(line).groups()
            table[name] = (result, tuple(filter(None, arguments.split(", "))))
    return table


def _candidates() -> Iterator[Path]:
    """Where the library may be, the nearest first: beside the package, in the prefix that it is
    installed in (PREFIX/lib/tern/python/tern), in the build tree of its source tree, and where it
    was when pip installed the package."""
    package = Path(__file__).resolve().parent
    folders: List[Path] = [package]
    if package.parts[-3:-1] == ("tern", "python"):
        folders.append(package.parents[2])
    if (package.parents[1] / "include/tern/tern.h").exists():
        folders.append(package.parents[1] / "build/release/lib")
    for folder in folders:
        for name in NAMES:
            yield folder / name
    try:
        from ._installed import LIBRARY
    except ImportError:
        return
    yield Path(LIBRARY)


def find() -> str:
    """The library that lib() loads: a path, or a bare name for the dynamic linker.

    TERN_LIBRARY names it; else it is looked for beside the package, in its prefix, in the build
    tree, where it was when pip installed the package, and where the dynamic linker looks.
    """
    named = os.environ.get("TERN_LIBRARY")
    if named:
        if not os.path.exists(named):
            raise LibraryError(f"TERN_LIBRARY is {named}, and there is no such file")
        return named
    for path in _candidates():
        if path.exists():
            return str(path)
    return ctypes.util.find_library("tern") or SONAME


def _argument_error(sentence: str) -> Exception:
    from ._errors import argument_error  # which needs this module

    return argument_error(sentence)


def _within_limits(name: str, function: Callable, words: Tuple[str, ...]) -> Callable:
    """The function, with numbers looked at before."""
    limits = [(i, *LIMITS[word]) for i, word in enumerate(words) if word in LIMITS]

    def call(*arguments: Any) -> Any:
        for i, low, high in limits:
            value = arguments[i]
            try:
                if low <= value < high:
                    continue
            except TypeError:
                if isinstance(value, ctypes._SimpleCData):  # it has the right bits already
                    continue
            raise _argument_error(f"{name}: argument {i + 1} is {value!r}; it is a whole "
                                  f"number from {low} to {high - 1}")
        try:
            return function(*arguments)
        except ctypes.ArgumentError as error:
            raise _argument_error(f"{name}: {error}") from None

    return call


class Library:
    """libtern: each function of the table as an attribute, with its prototype."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.cdll = ctypes.CDLL(path)
        except OSError as error:
            tried = ", ".join(str(path) for path in _candidates())
            raise LibraryError(
                f"libtern cannot be loaded: {error}. Tried {tried} and the dynamic linker's "
                "folders; TERN_LIBRARY=/path/to/libtern.so says where it is"
            ) from error
        self._table = prototypes()
        version = self.tern_version().decode()
        if version != VERSION:
            raise LibraryError(
                f"{path} is tern {version}, and {Path(__file__).parent} is the package of "
                f"tern {VERSION}; TERN_LIBRARY=/path/to/libtern.so says where the right one is"
            )

    def __getattr__(self, name: str):
        # Called once per function: the attribute is found without it afterwards.
        table = self.__dict__.get("_table", {})
        if name not in table:
            raise AttributeError(f"_prototypes.py has no {name}")
        try:
            function = getattr(self.cdll, name)
        except AttributeError:
            raise LibraryError(
                f"{self.path} has no {name}: it is another version of tern than these bindings"
            ) from None
        result, arguments = table[name]
        function.restype = WORDS[result]
        function.argtypes = [WORDS[word] for word in arguments]
        if any(word in LIMITS for word in arguments):
            function = _within_limits(name, function, arguments)
        setattr(self, name, function)
        return function


_lock = threading.Lock()
_loaded: Optional[Library] = None


def lib() -> Library:
    """The library, loaded at the first call. LibraryError says why it cannot be."""
    global _loaded
    if _loaded is None:
        with _lock:
            if _loaded is None:
                library = Library(find())
                _interrupt.arm(library)
                _loaded = library
    return _loaded
