# SPDX-License-Identifier: Apache-2.0
"""A folder without DISTRIBUTED_CONFIG: one chip, the arguments that generate_inputs lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, List, Tuple

from .buffers import is_name
from .data import Workspace, read_output
from .distributed import Results
from .dtypes import SIZES, is_scalar, to_array
from .golden import Golden, filled, pairs_of
from .output import Output
from .problem import Problem, nearest, shown
from .verify import compare, failed

MOST_SHOWN = 20


@dataclass(frozen=True)
class Tensor:
    name: str
    given: object  # the golden's own array or tensor
    dtype: str
    shape: Tuple[int, ...]
    count: int
    is_output: bool


@dataclass(frozen=True)
class Inputs:
    params: dict
    tensors: Tuple[Tensor, ...]
    words: Tuple[str, ...]  # of the rank's command line

    @property
    def outputs(self) -> List[Tensor]:
        return [tensor for tensor in self.tensors if tensor.is_output]


def _check_name(name: str, place: str) -> None:
    if not is_name(name):
        raise Problem(f"{shown(name)} is no name for an argument", place)


def _dtype_of(value: object, name: str, place: str) -> str:
    """The dtype of an array or tensor; torch writes its own as torch.float32."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        raise Problem(f"'{name}' is {shown(value)}; an argument is a NumPy array, a tensor or a "
                      "scalar of ctypes", place)
    text = str(getattr(dtype, "name", dtype)).rpartition(".")[2]
    if text == "bool":
        return "uint8"
    if text not in SIZES:
        raise Problem(f"'{name}' has the dtype {text}, which no buffer has{nearest(text, SIZES)}",
                      place)
    return text


def _scalar_words(name: str, value: object, place: str) -> List[str]:
    """An int of Python is 64 bits wide; how wide a float is must be said."""
    if type(value).__module__ == "ctypes":
        kind, number = type(value).__name__, value.value  # type: ignore[attr-defined]
    elif isinstance(value, (bool, int)):
        kind, number = "c_int64", int(value)
    elif isinstance(value, float):
        raise Problem(f"'{name}' is {value}, a float of Python; say ctypes.c_float or "
                      "ctypes.c_double", place)
    else:
        kind, number = str(getattr(value, "dtype")), value.item()  # type: ignore[attr-defined]
    if isinstance(number, bool):
        number = int(number)
    if not isinstance(number, (int, float)):
        raise Problem(f"'{name}' is {shown(value)}, which is no number", place)
    return ["--scalar", f"{name}:{kind}:{number!r}"]


def _output_names(golden: Golden, names: List[str]) -> List[str]:
    listed = golden.attribute("__outputs__")
    if listed is None:
        found = [name for name in names if name.startswith("out_")]
        if not found:
            raise Problem("it has no outputs: say __outputs__ = [...], or begin their names with "
                          "out_", golden.place)
        return found
    place = f"{golden.file}: __outputs__"
    if not isinstance(listed, (list, tuple)) or not listed:
        raise Problem(f"it is {shown(listed)}; it must be a list of names", place)
    for name in listed:
        if not isinstance(name, str) or name not in names:
            raise Problem(f"there is no tensor {shown(name)}{nearest(name, names)}", place)
    return list(listed)


def _in_order(golden: Golden, given: object, place: str) -> List[Tuple[str, object]]:
    """The arguments of a list as they are; of a dict its tensors in TENSOR_ORDER, then its scalars,
    or without any the number of elements of the first tensor."""
    pairs = list(pairs_of(given, place))
    if not isinstance(given, dict):
        return pairs
    order = golden.attribute("TENSOR_ORDER")
    where = f"{golden.file}: TENSOR_ORDER"
    if not isinstance(order, (list, tuple)) or not order:
        raise Problem("generate_inputs returns a dict, so there must be a list TENSOR_ORDER", where)
    table = dict(pairs)
    for name in order:
        if not isinstance(name, str) or name not in table:
            raise Problem(f"there is no {shown(name)}{nearest(name, table)}", where)
    for name, value in pairs:
        if name not in order and not is_scalar(value):
            raise Problem(f"the tensor '{name}' is missing", where)
    scalars = [pair for pair in pairs if is_scalar(pair[1])]
    first = to_array(table[order[0]], "float64", place)
    return [(name, table[name]) for name in order] + (scalars or [("SIZE", len(first))])


def _adds_sizes(runtime: str, pairs: List[Tuple[str, object]]) -> bool:
    """Whether the sizes of tensors are arguments that nobody lists. The runtimes from April on hand
    tensors over with their shapes; a list that has scalars size_NAME has all its arguments."""
    listed = any(is_scalar(value) and name.startswith("size_") for name, value in pairs)
    return "/" not in runtime and not listed


def make_inputs(golden: Golden, params: dict, runtime: str, space: Workspace,
                output: Output) -> Inputs:
    """Calls generate_inputs and writes the files of the tensors."""
    place = f"{golden.file}: generate_inputs"
    with output.phase("data") as phase:
        pairs = _in_order(golden, golden.call("generate_inputs", params), place)
        names = [name for name, value in pairs if not is_scalar(value)]
        outputs = _output_names(golden, names)
        words: List[str] = ["--tensor-sizes"] if _adds_sizes(runtime, pairs) else []
        tensors: List[Tensor] = []
        space.prepare(1)
        for name, value in pairs:
            _check_name(name, place)
            if is_scalar(value):
                words += _scalar_words(name, value, place)
                continue
            dtype = _dtype_of(value, name, place)
            array = to_array(value, dtype, f"{place}, '{name}'")
            shape = tuple(int(extent) for extent in getattr(value, "shape"))
            if len(array) == 0:
                raise Problem(f"'{name}' has no elements", place)
            space.write(0, name, array.tobytes())
            tensors.append(Tensor(name, value, dtype, shape, len(array), name in outputs))
            extents = "x".join(map(str, shape)) if 1 <= len(shape) <= 5 else str(len(array))
            words += ["--tensor",
                      f"{name}:{dtype}:{extents}:{'inout' if name in outputs else 'in'}"]
        if not tensors:
            raise Problem("it lists no tensor", place)
        phase.note = f"{len(tensors)} tensors, {len(pairs) - len(tensors)} scalars"
    return Inputs(params, tuple(tensors), tuple(words))


def _copy(value: object) -> object:
    """A copy that a golden may fill, of NumPy or torch."""
    return value.clone() if hasattr(value, "clone") else value.copy()  # type: ignore[attr-defined]


def compare_outputs(golden: Golden, inputs: Inputs, space: Workspace, output: Output) -> Results:
    """Outputs as generate_inputs made them go to compute_golden, which fills them. It may leave
    them, for that can be right; but then a kernel that does nothing is right as well."""
    tensors: Dict[str, object] = {
        one.name: _copy(one.given) if one.is_output else one.given for one in inputs.tensors}
    golden.call("compute_golden", tensors, inputs.params)
    place = f"{golden.file}: compute_golden"
    results: Results = {}
    for one in inputs.outputs:
        want = filled(tensors, one.name, one.dtype, one.count, place)
        if want.tobytes() == to_array(one.given, one.dtype, place).tobytes():  # type: ignore
            output.say(f"'{one.name}' is expected to be as it begins, so a kernel that does "
                       "nothing passes", "warn")
        got = read_output(space.file(0, one.name), one.dtype, one.count)
        results[0, one.name] = failed(got, one.count) if isinstance(got, str) else compare(
            got, want, one.dtype, golden.rtol, golden.atol, MOST_SHOWN)  # type: ignore[arg-type]
    return results


def say_results(inputs: Inputs, results: Results, output: Output) -> bool:
    for one in inputs.outputs:
        result = results[0, one.name]
        level = "info" if result.passed else "error"
        output.say(f"Comparing {one.name}: shape={one.shape}, dtype={one.dtype}", level)
        matched = result.elements - result.mismatches
        if result.passed:
            output.say(f"  {one.name}: PASS ({matched}/{result.elements} elements matched)")
            continue
        output.say(f"  {one.name}: FAIL ({matched}/{result.elements} elements matched)", level)
        output.say(f"Output '{one.name}' does not match golden.", level)
        if result.reason:
            output.say(f"  {result.reason}", level)
        for index, got, want in result.first:
            output.say(f"  {one.name}[{index}]: got {got}, expected {want}", level)
    return all(result.passed for result in results.values())

