# SPDX-License-Identifier: Apache-2.0
"""Element types and operations: NumPy's words, the library's numbers.

bf16, f8e4m3 and f8e5m2 are those of ml_dtypes (bfloat16, float8_e4m3fn, float8_e5m2) when that package
is there; without it, arrays of uint16 and uint8 hold the bits and calls are told dtype="bf16".
"""

from __future__ import annotations

import functools
from typing import Any, Dict, Optional, Tuple

import numpy as np

from ._errors import argument_error
from ._library import lib

_KINDS = {"f": "float", "i": "int", "u": "uint"}
_NAMES = {"bool": "bool", "c64": "complex64", "c128": "complex128"}
_ML_DTYPES = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}


@functools.lru_cache(maxsize=None)
def _ml_dtype(word: str) -> Optional[np.dtype]:
    """A dtype of ml_dtypes, or None where that package, or one that has it, is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    found = getattr(ml_dtypes, _ML_DTYPES[word], None)
    return None if found is None else np.dtype(found)


def bfloat16() -> Optional[np.dtype]:
    """ml_dtypes' bfloat16, or None where that package is not installed."""
    return _ml_dtype("bf16")


def _name(word: str) -> str:
    """NumPy's name of a dtype that NumPy has."""
    return _NAMES.get(word) or _KINDS[word[0]] + word[1:]


@functools.lru_cache(maxsize=None)
def words() -> Dict[str, int]:
    """The dtypes of the library: word ("f32") to number."""
    table: Dict[str, int] = {}
    stranger = lib().tern_dtype_name(-1)
    number = 0
    while lib().tern_dtype_name(number) != stranger:
        table[lib().tern_dtype_name(number).decode()] = number
        number += 1
    return table


@functools.lru_cache(maxsize=None)
def _numbers() -> Dict[np.dtype, int]:
    table = {np.dtype(_name(word)): number for word, number in words().items()
             if word not in _ML_DTYPES}
    for word in _ML_DTYPES:
        if _ml_dtype(word) is not None:
            table[_ml_dtype(word)] = words()[word]
    return table


def numpy_dtype(dtype: Any) -> np.dtype:
    """A dtype of NumPy, from anything that NumPy takes or a word of the library ("f32", "bf16")."""
    if isinstance(dtype, str) and dtype in words():
        if dtype in _ML_DTYPES:
            return _ml_dtype(dtype) or np.dtype(f"uint{8 * lib().tern_dtype_size(words()[dtype])}")
        return np.dtype(_name(dtype))
    try:
        return np.dtype(dtype)
    except TypeError as error:
        raise argument_error(f"dtype is {dtype!r}; {_known()}") from error


def memory_dtype(where: str, dtype: Any) -> np.dtype:
    """A dtype of elements that can lie in memory of tern."""
    found = numpy_dtype(dtype)
    if found.hasobject or found.itemsize == 0:
        raise argument_error(f"{where}: dtype is {found}; its elements are "
                             f"{'objects of this process' if found.hasobject else 'of 0 bytes'}")
    return found


def _known() -> str:
    return "the dtypes are " + ", ".join(words())


def _pair_value(dtype: np.dtype) -> Optional[np.dtype]:
    """The values of pairs (value, int32 index), as of minloc and maxloc; None for other dtypes."""
    if dtype.names is None or len(dtype.names) != 2:
        return None
    value = dtype.fields[dtype.names[0]][0]
    pair = np.dtype([("value", value), ("index", np.int32)], align=True)
    same = dtype.itemsize == pair.itemsize and all(
        dtype.fields[mine] == pair.fields[name] for mine, name in zip(dtype.names, pair.names))
    return value if same else None


def dtype_number(where: str, array_dtype: np.dtype, said: Any = None, pairs: bool = False) -> int:
    """The library's number for the elements of an array; `said` is a word that overrides it, for
    bits in arrays of another dtype of the same size (bf16 in uint16). `pairs`: may be pairs, which
    have that of their values."""
    if said is not None and not (isinstance(said, str) and said in words()):
        said_number = _numbers().get(numpy_dtype(said))
        if said_number is None:
            raise argument_error(f"{where}: dtype is {said!r}; {_known()}")
    elif said is not None:
        said_number = words()[said]
    else:
        value = _pair_value(array_dtype) if pairs else None
        number = _numbers().get(array_dtype if value is None else value)
        if number is None:
            raise argument_error(f"{where}: the array has dtype {array_dtype}; {_known()}")
        return number
    size = lib().tern_dtype_size(said_number)
    if size != array_dtype.itemsize:
        raise argument_error(
            f"{where}: dtype {said} has {size} bytes, the elements of the array ({array_dtype}) "
            f"{array_dtype.itemsize}"
        )
    return said_number


@functools.lru_cache(maxsize=None)
def operations() -> Dict[str, int]:
    """The operations of reductions: word ("sum") to number."""
    table: Dict[str, int] = {}
    stranger = lib().tern_reduce_op_name(-1)
    number = 0
    while lib().tern_reduce_op_name(number) != stranger:
        table[lib().tern_reduce_op_name(number).decode()] = number
        number += 1
    return table


def operation_number(where: str, op: Any) -> int:
    """The number of an operation; a callable is the caller's own ("function")."""
    if callable(op):
        return operations()["function"]
    number = operations().get(op) if isinstance(op, str) else None
    if number is None or op == "function":
        named = ", ".join(word for word in operations() if word != "function")
        raise argument_error(f"{where}: op is {op!r}; it is one of {named}, or a function of two "
                             "arrays that changes the first")
    return number


def check_array(where: str, array: Any, writable: bool = False) -> Tuple[int, int]:
    """(address, elements) of an array that the library may read, or also write."""
    if not isinstance(array, np.ndarray):
        raise argument_error(
            f"{where} is of type {type(array).__name__}; it must be an array of NumPy"
        )
    if array.dtype.hasobject:
        raise argument_error(f"{where} has dtype {array.dtype}: objects of this process, which mean "
                             "nothing in another one")
    if not array.flags.c_contiguous:
        raise argument_error(
            f"{where} is not contiguous: shape {array.shape}, strides {array.strides}; "
            "numpy.ascontiguousarray makes a copy that is"
        )
    if writable and not array.flags.writeable:
        raise argument_error(f"{where} is read-only; the call writes into it")
    if not array.flags.aligned:
        raise argument_error(f"{where} is not aligned to its elements; numpy.require(..., 'A') makes a "
                             "copy that is")
    if not array.dtype.isnative:
        raise argument_error(f"{where} has dtype {array.dtype}, in the other byte order")
    return array.ctypes.data, array.size
