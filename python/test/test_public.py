# SPDX-License-Identifier: Apache-2.0
"""What help() and type checkers need: every public name says what it is, and the types of what it
takes and returns."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import tern
import tern.collectives

MODULES = ["tern.platform", "tern.safetensors", "tern.timeline"]
PLACE = Path(tern.__file__).parent


def members(owner):
    """A class's own public functions and properties, and those of its bases in the package."""
    for base in owner.__mro__:
        if not base.__module__.startswith("tern"):
            continue
        for name, value in vars(base).items():
            if isinstance(value, property):
                value = value.fget
            value = getattr(value, "__func__", value)
            if inspect.isfunction(value) and (not name.startswith("_") or name == "__init__"):
                if not value.__qualname__.startswith("_make."):  # made by NamedTuple
                    yield f"{owner.__name__}.{name}", value


def public():
    """All that users call or read: name -> function or class."""
    found = {name: getattr(tern, name) for name in tern.__all__}
    for module in map(importlib.import_module, MODULES):
        for name, value in vars(module).items():
            if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
                found[f"{module.__name__}.{name}"] = value
    for value in list(found.values()):
        if inspect.isclass(value):
            found.update(members(value))
    return found


def test_every_public_name_says_what_it_is():
    without = [name for name, value in public().items()
               if not name.endswith(".__init__") and not inspect.getdoc(value)]
    assert without == []


def test_every_public_function_has_types():
    without = []
    for name, value in public().items():
        if not inspect.isfunction(value):
            continue
        signature = inspect.signature(value)
        without += [f"{name}({one.name})" for one in list(signature.parameters.values())
                    if one.annotation is one.empty and one.name not in ("self", "cls")]
        if signature.return_annotation is signature.empty:
            without.append(f"{name} ->")
    assert without == []
    assert (PLACE / "py.typed").is_file()


def test_collectives_say_shapes():
    names = re.findall(r"^    (\w+)  .*count", tern.collectives.__doc__, re.M) + ["send", "recv"]
    assert len(names) == 10
    for name in names:
        assert "hape" in getattr(tern.Comm, name).__doc__, name


@pytest.mark.parametrize("module", sorted(
    found.name for found in pkgutil.walk_packages([str(PLACE)], "tern.")))
def test_every_module_says_what_it_is(module):
    if not module.endswith("__main__"):
        assert importlib.import_module(module).__doc__
