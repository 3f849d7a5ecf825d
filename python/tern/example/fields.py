# SPDX-License-Identifier: Apache-2.0
"""A dictionary of kernel_config.py with the place where it stands, read field by field.

Every reader takes a field once and says in one sentence what is wrong with it; fields that nobody
may give are refused with the nearest name that there is.
"""

from __future__ import annotations

import operator
from typing import Iterable, List, Optional, Sequence

from .problem import Problem, listed, nearest, shown

REQUIRED = object()


class Fields:
    """The fields of `value`, which must be a dict whose keys are among `known`.

    `place` is how a person finds it: the file, a colon, and the expression of Python.
    """

    def __init__(self, value: object, place: str, known: Sequence[str]) -> None:
        if not isinstance(value, dict):
            raise Problem(f"it is {shown(value)}; it must be a dict", place)
        for key in value:
            if key not in known:
                raise Problem(f"there is no field {shown(key)}{nearest(key, known)}", place)
        self._value = value
        self.place = place

    def at(self, name: str) -> str:
        """The place of a field."""
        return f'{self.place}["{name}"]'

    def has(self, name: str) -> bool:
        return self._value.get(name) is not None

    def raw(self, name: str, default: object = REQUIRED) -> object:
        value = self._value.get(name, default)
        if value is REQUIRED:
            raise Problem(f"the field '{name}' is missing", self.place)
        return value

    def text(self, name: str, default: object = REQUIRED) -> str:
        value = self.raw(name, default)
        if hasattr(value, "__fspath__"):
            value = str(value)
        if not isinstance(value, str):
            raise Problem(f"it is {shown(value)}; it must be a text", self.at(name))
        if (not value and default is not value) or "\0" in value:
            raise Problem("it is empty" if not value else "it has a NUL in it", self.at(name))
        return value

    def word(self, name: str, known: Iterable[str], default: object = REQUIRED) -> str:
        value = self.raw(name, default)
        names = list(known)
        if not isinstance(value, str) or value not in names:
            raise Problem(f"it is {shown(value)}; it must be {listed(names)}"
                          f"{nearest_only(value, names)}", self.at(name))
        return str(value)

    def integer(self, name: str, default: object, least: int, most: int) -> int:
        return whole(self.raw(name, default), self.at(name), least, most)

    def items(self, name: str, default: object = REQUIRED) -> List[object]:
        """A list or tuple."""
        value = self.raw(name, default)
        if not isinstance(value, (list, tuple)):
            raise Problem(f"it is {shown(value)}; it must be a list", self.at(name))
        return list(value)

    def names(self, name: str, default: object = REQUIRED) -> List[str]:
        """A list of texts, each once."""
        found: List[str] = []
        for index, item in enumerate(self.items(name, default)):
            place = f"{self.at(name)}[{index}]"
            if not isinstance(item, str):
                raise Problem(f"it is {shown(item)}; it must be a name", place)
            if item in found:
                raise Problem(f"'{item}' is named twice", place)
            found.append(item)
        return found


def nearest_only(value: object, names: Sequence[str]) -> str:
    """The word that may be meant, where the sentence has named all of them."""
    words = nearest(value, names) if isinstance(value, str) else ""
    return words if "did you mean" in words else ""


def whole(value: object, place: str, least: int, most: Optional[int]) -> int:
    """A whole number within limits; what counts as one in Python, but no bool."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise Problem(f"it is {shown(value)}; it must be a whole number", place) from None
    if number < least or (most is not None and number > most):
        limit = f"{least} to {most}" if most is not None else f"at least {least}"
        raise Problem(f"it is {number}; it must be {limit}", place)
    return number
