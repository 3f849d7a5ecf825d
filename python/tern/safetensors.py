# SPDX-License-Identifier: Apache-2.0
"""Reads tensors from .safetensors files without a copy, and writes such files.

A file is 8 bytes with the size of a header, the header (JSON: of each tensor its dtype, shape, and
where its bytes begin and end), and the bytes of all tensors without gaps. Everything that a header
says is checked when the file is opened, so a damaged or hostile file is a `SafetensorsError`, never
a wrong array.

    from tern import safetensors
    with safetensors.open_file("model.safetensors") as weights:
        shard = weights["layer.up.weight"][begin:end]   # a view of the file: nothing is read yet

The format: https://github.com/huggingface/safetensors.
"""
from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from typing import Dict, Iterator, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _dtypes

HEADER_BYTES_MAX = 100_000_000
DIMENSIONS_MAX = 32  # of a NumPy array

# The format's dtypes and NumPy's. NumPy has no bfloat16: ml_dtypes' where that is installed, else
# the bits.
_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4",
           "I16": "<i2", "I8": "i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1",
           "BOOL": "?"}


class SafetensorsError(ValueError):
    """A file that is no .safetensors file; the sentence says where and what would be right."""


class TensorInfo(NamedTuple):
    """What a file says of a tensor."""

    dtype: str  # the format's word: "F32", "BF16", ...
    shape: Tuple[int, ...]
    begin: int  # of its bytes, counted from the end of the header
    end: int


def _bfloat16() -> np.dtype:
    return _dtypes.bfloat16() or np.dtype("<u2")


def to_f32(array: np.ndarray, dtype: Optional[str] = None) -> np.ndarray:
    """A float32 array of the same values and shape; `dtype` "BF16" says that uint16 elements are
    the bits of bfloat16. What is float32 already is not copied."""
    if dtype == "BF16" and array.dtype == np.uint16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    return np.asarray(array, np.float32)


class _Refusal(Exception):
    """What is wrong with a header; the caller knows the file."""


def _no_twice(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refusal(f"the header has the key {twice!r} twice")
    return result


def _no_constant(word):
    raise _Refusal(f"the header has the number {word}")


def _parse(header: bytes) -> dict:
    if header[:1] != b"{":
        raise _Refusal("the header does not begin with '{'")
    try:
        parsed = json.loads(header.decode("utf-8"), object_pairs_hook=_no_twice,
                            parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise _Refusal(f"the header is not UTF-8 (byte {error.start})") from None
    except json.JSONDecodeError as error:
        raise _Refusal(f"the header is not JSON: {error.msg} at byte {error.pos}") from None
    except RecursionError:
        raise _Refusal("the header is nested too deep") from None
    except ValueError as error:  # a number with thousands of digits
        raise _Refusal(f"the header is not JSON: {error}") from None
    if not isinstance(parsed, dict):
        raise _Refusal("the header is not an object")
    return parsed


def _counts(value, where: str, what: str) -> Tuple[int, ...]:
    """A list of numbers from 0 on; a bool is none."""
    if not isinstance(value, list) or any(type(n) is not int or not 0 <= n < 1 << 63
                                          for n in value):
        raise _Refusal(f"{where}: {what} is a list of whole numbers from 0 on, "
                       f"not {str(value)[:60]}")
    return tuple(value)


def _tensor(name: str, said) -> TensorInfo:
    where = f"tensor {name!r}"
    if not isinstance(said, dict):
        raise _Refusal(f"{where} is not an object")
    for key in ("dtype", "shape", "data_offsets"):
        if key not in said:
            raise _Refusal(f"{where} has no {key}")
    extra = set(said) - {"dtype", "shape", "data_offsets"}
    if extra:
        raise _Refusal(f"{where} has the key {sorted(extra)[0]!r}, which there is not")
    dtype = said["dtype"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _Refusal(f"{where}: its dtype {str(dtype)[:40]!r} is none of {', '.join(_DTYPES)}")
    shape = _counts(said["shape"], where, "its shape")
    if len(shape) > DIMENSIONS_MAX:
        raise _Refusal(f"{where} has {len(shape)} dimensions; {DIMENSIONS_MAX} is the limit")
    offsets = _counts(said["data_offsets"], where, "data_offsets")
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _Refusal(f"{where}: data_offsets is [begin, end], not {list(offsets)[:4]}")
    wanted = most = np.dtype(_DTYPES[dtype]).itemsize
    for side in shape:
        wanted *= side
        most *= max(side, 1)
    if most >= 1 << 63:
        raise _Refusal(f"{where} has the shape {list(shape)[:8]}, which no array has")
    if offsets[1] - offsets[0] != wanted:
        raise _Refusal(f"{where} has {offsets[1] - offsets[0]} bytes; {dtype} of shape "
                       f"{list(shape)} takes {wanted}")
    return TensorInfo(dtype, shape, offsets[0], offsets[1])


def _check(header: dict, data_bytes: int) -> Tuple[Dict[str, TensorInfo], Dict[str, str]]:
    """The tensors and the metadata, when tensors fill the data without gap or overlap."""
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or any(not isinstance(v, str) for v in metadata.values()):
        raise _Refusal("__metadata__ is not an object of strings")
    tensors = {name: _tensor(name, said) for name, said in header.items()}
    at = 0
    for name, info in sorted(tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
        if info.begin != at:
            problem = "overlaps with what is before it" if info.begin < at else "is behind a gap"
            raise _Refusal(f"tensor {name!r} begins at byte {info.begin} of the data and "
                           f"{problem}, which ends at {at}")
        at = info.end
    if at != data_bytes:
        raise _Refusal(f"the tensors take {at} bytes, and the file has {data_bytes} behind its "
                       "header")
    return tensors, metadata


class SafetensorsFile(Mapping):
    """An open file: a mapping from names to arrays that are read-only views of the file, with the
    shape that the file says. Arrays of bfloat16 have ml_dtypes' dtype where that is installed,
    else uint16 (see `to_f32`). The views keep the file's memory; whoever makes the file shorter
    while they live ends the process (SIGBUS), as with any memory map.

    Errors: OSError for a file that cannot be opened, SafetensorsError for one that is damaged.
    """

    def __init__(self, path: Union[str, os.PathLike]) -> None:
        self.path = os.fspath(path)
        with open(self.path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            try:
                header_bytes = self._header_bytes(file, size)
                header = _parse(file.read(header_bytes))
                self._tensors, self.metadata = _check(header, size - 8 - header_bytes)
            except _Refusal as refusal:
                raise SafetensorsError(f"{self.path}: {refusal}") from None
            self._begin = 8 + header_bytes
            self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    @staticmethod
    def _header_bytes(file, size: int) -> int:
        first = file.read(8)
        if len(first) < 8:
            raise _Refusal(f"the file has {size} bytes; the size of its header alone takes 8")
        header_bytes = int.from_bytes(first, "little")
        if header_bytes > HEADER_BYTES_MAX:
            raise _Refusal(f"a header of {header_bytes} bytes; {HEADER_BYTES_MAX} is the limit "
                           "(is it a .safetensors file?)")
        if header_bytes > size - 8:
            raise _Refusal(f"a header of {header_bytes} bytes, and the file has {size - 8} behind "
                           "its first 8: it is cut off")
        return header_bytes

    def info(self, name: str) -> TensorInfo:
        """dtype, shape and place of a tensor; KeyError names the file."""
        if name not in self._tensors:
            raise KeyError(f"{self.path} has no tensor {name!r}")
        return self._tensors[name]

    def __getitem__(self, name: str) -> np.ndarray:
        info = self.info(name)
        if self._map is None:
            raise ValueError(f"{self.path} is closed")
        dtype = _bfloat16() if info.dtype == "BF16" else np.dtype(_DTYPES[info.dtype])
        count = (info.end - info.begin) // dtype.itemsize
        if count == 0:
            return np.empty(info.shape, dtype)
        return np.frombuffer(self._map, dtype, count, self._begin + info.begin).reshape(info.shape)

    def f32(self, name: str) -> np.ndarray:
        """The tensor as float32: a view when it is that, else a copy."""
        return to_f32(self[name], self.info(name).dtype)

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def close(self) -> None:
        """Arrays that were taken stay valid; their memory goes with the last of them."""
        self._map = None

    def __enter__(self) -> "SafetensorsFile":
        return self

    def __exit__(self, *_) -> None:
        self.close()


def open_file(path: Union[str, os.PathLike]) -> SafetensorsFile:
    """Opens and checks a file; see SafetensorsFile."""
    return SafetensorsFile(path)


def _word_of(array: np.ndarray, name: str) -> str:
    for word, dtype in _DTYPES.items():
        if array.dtype == np.dtype(dtype) and word != "BF16":
            return word
    if array.dtype == _bfloat16():
        return "BF16"
    raise SafetensorsError(f"tensor {name!r}: there is no dtype for {array.dtype} in the format")


def save_file(path: Union[str, os.PathLike], tensors: Mapping[str, np.ndarray],
              metadata: Optional[Mapping[str, str]] = None,
              dtypes: Optional[Mapping[str, str]] = None) -> None:
    """Writes arrays of any shape; `dtypes` says the format's word where NumPy has none of its own
    ({"w": "BF16"} for an array of uint16 with the bits of bfloat16). The file appears whole or not
    at all."""
    for text in (*tensors, *(metadata or {}), *(metadata or {}).values()):
        if not isinstance(text, str) or text == "__metadata__":
            raise SafetensorsError(f"{text!r}: names and metadata are strings, and __metadata__ is "
                                   "no name")
    header: Dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    arrays, at = [], 0
    for name, value in tensors.items():
        array = np.ascontiguousarray(value)
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        word = (dtypes or {}).get(name) or _word_of(array, name)
        bits = array.dtype.kind == "u"  # may stand for another dtype
        if word not in _DTYPES or np.dtype(_DTYPES[word]).itemsize != array.itemsize or not (
                bits or word == _word_of(array, name)):
            raise SafetensorsError(f"tensor {name!r}: {array.dtype} is not written as {word}")
        header[name] = {"dtype": word, "shape": list(np.shape(value)),
                        "data_offsets": [at, at + array.nbytes]}
        arrays.append(array)
        at += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the data is aligned
    part = f"{os.fspath(path)}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for array in arrays:
                file.write(array.tobytes())
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.unlink(part)
