# SPDX-License-Identifier: Apache-2.0
"""golden.py: what the inputs are, and what the outputs must be.

The functions of the user's module run in this process, one call after the other. What they return
is checked here for its form; numbers are converted by dtypes.py.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Optional, Tuple

from .buffers import Distributed
from .dtypes import bare, is_float, is_scalar, to_array
from .problem import Problem, listed, nearest, shown
from .usercode import load_module, run_user_code

DEFAULT_TOLERANCE = 1e-5


class Golden:
    """A golden module. `seconds` is how long each call of one of its functions may take."""

    def __init__(self, file: Path, seconds: Optional[float]) -> None:
        if not file.is_file():
            raise Problem("there is no such file", str(file))
        self.file = file
        self.place = str(file)
        self._seconds = seconds
        self._module = load_module(file, "golden", seconds)
        self.rtol = self._tolerance("RTOL")
        self.atol = self._tolerance("ATOL")

    def _tolerance(self, name: str) -> float:
        value = bare(getattr(self._module, name, DEFAULT_TOLERANCE))
        try:
            if isinstance(value, (bool, str)):
                raise TypeError
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            raise Problem(f"it is {shown(value)}; it must be a number",
                          f"{self.file}: {name}") from None
        if not (math.isfinite(number) and number >= 0):
            raise Problem(f"it is {number}; it must be 0 or more", f"{self.file}: {name}")
        return number

    def attribute(self, name: str, default: object = None) -> object:
        return getattr(self._module, name, default)

    def _function(self, name: str) -> Callable[..., object]:
        function = getattr(self._module, name, None)
        if not callable(function):
            names = [key for key, value in vars(self._module).items() if callable(value)]
            meant = nearest(name, names)
            raise Problem(f"there is no function {name}"
                          f"{meant if 'did you mean' in meant else ''}", self.place)
        return function

    def check_functions(self, *names: str) -> None:
        """Says what is missing before anything is compiled."""
        for name in names:
            self._function(name)

    def call(self, name: str, *arguments: object) -> object:
        """A function of the module; what it raises becomes a Problem at its line."""
        return run_user_code(self.file.parent, f"{self.file}: {name}", self._function(name),
                             arguments, self._seconds)


def pairs_of(value: object, place: str) -> Iterator[Tuple[str, object]]:
    """The (name, value) of what generates inputs, in order; a name twice is refused."""
    items = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(items, (list, tuple)):
        raise Problem(f"it returns {shown(value)}; it must be a list of (name, values)", place)
    seen = set()
    for index, item in enumerate(items):
        if not isinstance(item, (list, tuple)) or len(item) != 2 or not isinstance(item[0], str):
            raise Problem(f"item {index} is {shown(item)}; it must be (name, values)", place)
        if item[0] in seen:
            raise Problem(f"'{item[0]}' is there twice", place)
        seen.add(item[0])
        yield item[0], item[1]


def inputs_of_rank(golden: Golden, config: Distributed, rank: int) -> Dict[str, bytes]:
    """The bytes of each input buffer of a rank, by name.

    Values of buffers that are no inputs, and numbers, are for the golden's own use.
    """
    place = f"{golden.file}: generate_distributed_inputs, rank {rank}"
    given = golden.call("generate_distributed_inputs", rank, config.nranks, config.root)
    names = [buffer.name for buffer in config.buffers]
    found: Dict[str, bytes] = {}
    for name, value in pairs_of(given, place):
        if name in config.inputs:
            found[name] = _fill(value, config, name, place)
        elif name not in names and not is_scalar(value):
            raise Problem(f"there is no buffer '{name}'{nearest(name, names)}", place)
    for name in config.inputs:
        if name not in found:
            raise Problem(f"the input '{name}' is missing", place)
    return found


def _fill(value: object, config: Distributed, name: str, place: str) -> bytes:
    buffer = config.buffer(name)
    if is_scalar(value):
        raise Problem(f"'{name}' is {shown(value)}; the buffer has {buffer.count} elements", place)
    array = to_array(value, buffer.dtype, f"{place}, '{name}'")
    if len(array) != buffer.data_count:
        raise Problem(f"'{name}' has {len(array)} elements; the buffer has {buffer.data_count}",
                      place)
    data = array.tobytes()
    return data + bytes(buffer.size_bytes - len(data))


class Asked(dict):
    """Parameters of compute_golden that know whether somebody has looked at the rank."""

    asked = False

    def __getitem__(self, key: object) -> object:
        self.asked = self.asked or key == "rank"
        return super().__getitem__(key)

    def get(self, key: object, default: object = None) -> object:
        return self[key] if key in self else default

    def __iter__(self) -> Iterator:  # so do **params and dict(params)
        self.asked = True
        return super().__iter__()

    def items(self):  # type: ignore[no-untyped-def]
        self.asked = True
        return super().items()

    def values(self):  # type: ignore[no-untyped-def]
        self.asked = True
        return super().values()

    def copy(self) -> dict:
        return dict(self.items())

    def pop(self, key, *default):  # type: ignore[no-untyped-def]
        self.asked = self.asked or key == "rank"
        return super().pop(key, *default)

    def setdefault(self, key, default=None):  # type: ignore[no-untyped-def]
        self.asked = self.asked or key == "rank"
        return super().setdefault(key, default)

    def popitem(self):  # type: ignore[no-untyped-def]
        self.asked = True
        return super().popitem()

    def __repr__(self) -> str:
        self.asked = True
        return super().__repr__()


class Given(int):
    """A whole number that a rank saved; another object than an equal one that a golden writes."""


def _lists(config: Distributed,
           saved: Callable[[int, str], Optional[list]], rank: int) -> Dict[str, list]:
    """What compute_golden gets: copies of what a rank saved, zeros where it saved nothing."""
    lists = {}
    for name in config.outputs:
        buffer = config.buffer(name)
        values = saved(rank, name)
        if values is None:
            values = [0.0 if is_float(buffer.dtype) else 0] * buffer.data_count
        lists[name] = list(values) if is_float(buffer.dtype) else [Given(one) for one in values]
    return lists


def _left(after: object, before: list) -> int:
    """How many elements of a list are still those that were there."""
    if not isinstance(after, list):
        return 0
    return sum(new is old for new, old in zip(after, before))


def expected_outputs(golden: Golden, config: Distributed,
                     saved: Callable[[int, str], Optional[list]]) -> Callable[[int], Dict]:
    """A function from a rank to its expected outputs, arrays of the buffers' dtypes by name.

    compute_golden gets copies of what the root saved (zeros where it saved nothing), and one result
    holds for all ranks; unless it looks at params["rank"]: then it is called for each rank, with
    what that rank saved. An element that it leaves as it was would be compared with itself: that is
    a Problem where the output is verified.
    """
    place = f"{golden.file}: compute_golden"

    def compute(rank: int) -> Tuple[Dict, Dict[str, int], bool]:
        params = Asked(nranks=config.nranks, root=config.root, rank=rank)
        given = _lists(config, saved, rank)
        tensors: Dict[str, object] = {name: list(values) for name, values in given.items()}
        golden.call("compute_golden", tensors, params)
        left = {name: _left(tensors.get(name), values) for name, values in given.items()}
        return {name: filled(tensors, name, config.buffer(name).dtype,
                             config.buffer(name).data_count, place)
                for name in config.outputs}, left, params.asked

    shared, shared_left, by_rank = compute(config.root)

    def of(rank: int) -> Dict:
        expected, left = shared, shared_left
        if by_rank and rank != config.root:
            expected, left, _ = compute(rank)
        for name in config.outputs:
            if left[name] > 0 and rank in config.verify[name]:
                raise Problem(_unfilled(name, left[name], config.buffer(name).data_count), place)
        return expected

    return of


def _unfilled(name: str, left: int, count: int) -> str:
    if left == count:
        return f"it fills nothing of '{name}', which would be compared with itself"
    return (f"it fills {count - left} of the {count} elements of '{name}'; the others would be "
            "compared with themselves (data_prefix_elems says how many matter)")


def filled(tensors: Dict[str, object], name: str, dtype: str, count: int, place: str) -> object:
    """What compute_golden has left under an output's name, as an array of its dtype and length."""
    if name not in tensors:
        raise Problem(f"it has removed the output '{name}'", place)
    if is_scalar(tensors[name]):
        raise Problem(f"it leaves '{name}' as {shown(tensors[name])}; there must be {count} "
                      "elements", place)
    array = to_array(tensors[name], dtype, f"{place}, '{name}'")
    if len(array) != count:
        raise Problem(f"it leaves '{name}' with {len(array)} elements; there must be {count}",
                      place)
    return array


def cases_of(golden: Golden, case: Optional[str],
             run_all: bool) -> List[Tuple[Optional[str], dict]]:
    """The cases to run of a single chip's golden, as (name, params)."""
    table = golden.attribute("ALL_CASES")
    place = f"{golden.file}: ALL_CASES"
    if table is None:
        if case is not None or run_all:
            raise Problem("there is no ALL_CASES, so there is no case to select", golden.place)
        return [(None, {})]
    if not isinstance(table, dict) or not table:
        raise Problem(f"it is {shown(table)}; it must be a dict from names to params", place)
    for name, params in table.items():
        if not isinstance(name, str) or not isinstance(params, dict):
            raise Problem(f"{shown(name)}: {shown(params)} is no name with a dict of params", place)
    if run_all:
        return [(name, dict(params)) for name, params in table.items()]
    default = golden.attribute("DEFAULT_CASE")
    selected = case if case is not None else default
    if selected is None:
        if len(table) == 1:
            selected = next(iter(table))
        else:
            raise Problem(f"there is no DEFAULT_CASE; select with --case: {listed(table)}",
                          golden.place)
    if not isinstance(selected, str) or selected not in table:
        where = f"{golden.file}: DEFAULT_CASE" if case is None else golden.place
        raise Problem(f"there is no case {shown(selected)}{nearest(selected, table)}", where)
    return [(selected, dict(table[selected]))]
