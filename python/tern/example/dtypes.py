# SPDX-License-Identifier: Apache-2.0
"""The element types of buffers, and the conversion of what a golden gives into one of them.

Whoever converts says where the values are from, so that a number that does not fit is named by its
index. bfloat16, which NumPy does not have, is kept as uint16. NumPy is imported at the first
conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from .problem import Problem, nearest, shown

if TYPE_CHECKING:
    import numpy

# name: (bytes of an element, code of the array module, which lacks the half ones)
SIZES = {
    "float16": (2, ""), "bfloat16": (2, ""), "float32": (4, "f"), "float64": (8, "d"),
    "int8": (1, "b"), "int16": (2, "h"), "int32": (4, "i"), "int64": (8, "q"),
    "uint8": (1, "B"), "uint16": (2, "H"), "uint32": (4, "I"), "uint64": (8, "Q"),
}

# What a rank fills floats of its device with before a run (cli/example/rank_words.c): NaNs that no
# instruction makes.
CANARIES = {"float16": 0xFEA5, "bfloat16": 0xFFE5, "float32": 0xFFE5A5A5,
            "float64": 0xFFFDA5A5A5A5A5A5}


def check_dtype(name: object, place: str) -> str:
    """The name of a dtype, or a sentence."""
    if not isinstance(name, str) or name not in SIZES:
        raise Problem(f"there is no dtype {shown(name)}{nearest(name, SIZES)}", place)
    return name


def is_float(dtype: str) -> bool:
    return "float" in dtype


def storage(dtype: str) -> str:
    """The name of NumPy's dtype that has the bytes."""
    return "uint16" if dtype == "bfloat16" else dtype


def numbers(array: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """The values of what is stored: floats as float64, whole numbers as they are."""
    import numpy

    if dtype == "bfloat16":
        return (array.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    return array.astype(numpy.float64) if is_float(dtype) else array


def unwritten(array: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """Which elements of what a rank has saved are canaries; none of whole numbers."""
    import numpy

    if dtype not in CANARIES:
        return numpy.zeros(len(array), bool)
    return array.view(f"uint{8 * SIZES[dtype][0]}") == CANARIES[dtype]


def limits(dtype: str) -> tuple[int, int]:
    """The least and the greatest number of an integer dtype."""
    bits = 8 * SIZES[dtype][0]
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def bare(values: object) -> object:
    """A tensor of torch as the NumPy array of its bytes' values; anything else as it is."""
    for step in ("detach", "cpu", "resolve_conj", "resolve_neg"):
        if hasattr(values, step) and hasattr(values, "numpy"):
            values = getattr(values, step)()
    if hasattr(values, "numpy") and callable(values.numpy):
        if str(getattr(values, "dtype", "")) == "torch.bfloat16":
            values = values.float()  # type: ignore[attr-defined]
        return values.numpy()
    return values


def is_scalar(value: object) -> bool:
    """Whether a golden's value is one number: of Python, of ctypes, of NumPy."""
    if isinstance(value, (bool, int, float)):
        return True
    if hasattr(value, "ndim") and hasattr(value, "dtype"):
        return False if hasattr(value, "shape") and type(value).__name__ == "ndarray" else (
            value.ndim == 0 and not hasattr(value, "detach"))
    return type(value).__module__ == "ctypes" and hasattr(value, "value")


def to_array(values: object, dtype: str, place: str) -> "numpy.ndarray":
    """One-dimensional array of storage(dtype) with the values of a list, array or tensor, in C
    order.

    Raises Problem for what is no sequence of numbers, for a number that `dtype` cannot hold, and
    for a fraction or NaN where `dtype` has integers. Floats are rounded to the nearest.
    """
    import numpy

    try:
        values = bare(values)
    except (RuntimeError, TypeError) as error:  # sparse, quantized, without data
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise Problem(f"it is a tensor that is no array: {said}", place) from None
    if isinstance(values, numpy.ndarray) and values.dtype.name == "bfloat16":  # of ml_dtypes
        values = values.astype(numpy.float32)
    if isinstance(values, numpy.ma.MaskedArray) and numpy.ma.is_masked(values):
        raise Problem("it has masked elements, which are no numbers", place)
    if isinstance(values, numpy.ndarray):
        values = numpy.asarray(values)  # a matrix, or without a mask: their operations differ
    if not isinstance(values, numpy.ndarray) or values.dtype.kind == "O":
        values = _from_sequence(values, dtype, place)
    if values.dtype.kind not in "fiub":
        raise Problem(f"its elements are {values.dtype}, which are no numbers", place)
    flat = values.ravel()
    with numpy.errstate(all="ignore"):
        result = _brain(flat) if dtype == "bfloat16" else flat.astype(dtype)
        wrong = _wrong(flat, numbers(result, dtype), dtype)
    if wrong.any():
        index = int(wrong.argmax())
        raise Problem(_misfit(index, flat[index].item(), dtype), place)
    return result


def _brain(values: "numpy.ndarray") -> "numpy.ndarray":
    """bfloat16 as uint16: the upper half of a float32, rounded to the nearest, ties to even."""
    import numpy

    bits = values.astype(numpy.float32).view(numpy.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(values), 0x7FC0, rounded).astype(numpy.uint16)


def _wrong(given: "numpy.ndarray", result: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """Which elements have lost more than float rounding takes."""
    import numpy

    if is_float(dtype):
        return numpy.isfinite(given) & ~numpy.isfinite(result)
    low, high = limits(dtype)
    if given.dtype.kind == "f":
        wide = given.astype(numpy.float64)
        return ~((wide == numpy.floor(wide)) & (wide >= low) & (wide < float(high + 1)))
    given_low, given_high = limits(given.dtype.name) if given.dtype.kind != "b" else (0, 1)
    wrong = numpy.zeros(given.shape, bool)
    if given_low < low:
        wrong |= given < low
    if given_high > high:
        wrong |= given > high
    return wrong


def _from_sequence(values: object, dtype: str, place: str) -> "numpy.ndarray":
    from array import array

    import numpy

    if isinstance(values, (str, bytes, bytearray, dict, set)) or not hasattr(values, "__len__"):
        raise Problem(f"{shown(values)} is no list of numbers", place)
    code = "d" if is_float(dtype) else SIZES[dtype][1]
    try:
        return numpy.frombuffer(array(code, values), dtype="float64" if code == "d" else dtype)
    except (TypeError, ValueError, OverflowError):
        pass  # nested, or whole numbers as floats, or wrong: the slow way says which
    flat: list = []
    _flatten(values, flat, 0)
    found = _first_wrong(flat, dtype)
    if found is not None:
        raise Problem(found, place)
    return numpy.array([_number(value, dtype) for value in flat],
                       "float64" if is_float(dtype) else dtype)


def _flatten(values: object, flat: list, depth: int) -> None:
    for value in values:  # type: ignore[attr-defined]
        value = bare(value)
        if getattr(value, "ndim", 1) == 0:  # of an array or tensor
            flat.append(value.item())
        elif depth < 8 and hasattr(value, "__len__") and not isinstance(value, (str, bytes)):
            _flatten(value, flat, depth + 1)
        else:
            flat.append(value)


def _number(value: object, dtype: str) -> object:
    return float(value) if is_float(dtype) else int(value)  # type: ignore[arg-type]


def _first_wrong(flat: list, dtype: str) -> Optional[str]:
    """The sentence about the first element that does not fit, or None."""
    for index, value in enumerate(flat):
        if isinstance(value, (str, bytes)) or not (
                hasattr(value, "__float__") or hasattr(value, "__index__")):
            return f"element {index} is {shown(value)}, which is no number"
        try:
            number = float(value) if is_float(dtype) else int(value)
            fits = is_float(dtype) or number == value
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits or not is_float(dtype) and not (
                limits(dtype)[0] <= number <= limits(dtype)[1]):
            return _misfit(index, value, dtype)
    return None


def _misfit(index: int, value: object, dtype: str) -> str:
    sentence = f"element {index} is {shown(value)}, which {dtype} cannot hold"
    if is_float(dtype):
        return sentence
    low, high = limits(dtype)
    return f"{sentence}: whole numbers from {low} to {high}"
