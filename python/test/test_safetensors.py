# SPDX-License-Identifier: Apache-2.0
"""Reading .safetensors: every dtype and shape, views of the file; what is damaged is a sentence."""
import json
import os
import random

import numpy as np
import pytest

from tern import safetensors
from tern.safetensors import SafetensorsError


def write(path, header, data=b"", header_bytes=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(text) if header_bytes is None else header_bytes
    path.write_bytes(size.to_bytes(8, "little") + text + data)
    return path


def tensor(dtype="F32", shape=(2,), offsets=(0, 8), **more):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets), **more}


@pytest.mark.parametrize("dtype", "f8 f4 f2 i8 i4 i2 i1 u8 u4 u2 u1 ?".split())
def test_what_is_written_is_read(tmp_path, dtype):
    made = {"a": np.arange(24).astype(dtype).reshape(2, 3, 4), "none": np.zeros((0, 7), dtype),
            "scalar": np.array(1, dtype), "turned": np.arange(6).astype(dtype).reshape(2, 3).T}
    safetensors.save_file(tmp_path / "x.safetensors", made, {"by": "a test"})
    with safetensors.open_file(tmp_path / "x.safetensors") as file:
        assert list(file) == list(made) and file.metadata == {"by": "a test"}
        for name, wanted in made.items():
            assert file[name].dtype == wanted.dtype and file[name].shape == wanted.shape
            assert np.array_equal(file[name], wanted)


def test_arrays_are_views_of_the_file_and_outlive_it(tmp_path):
    safetensors.save_file(tmp_path / "x", {"a": np.arange(1000, dtype="f4")})
    file = safetensors.open_file(tmp_path / "x")
    array = file["a"]
    assert not array.flags.owndata and not array.flags.writeable
    part = array[10:20]
    file.close()
    with pytest.raises(ValueError, match="is closed"):
        file["a"]
    del file, array
    assert part.tolist() == list(range(10, 20))


def test_bfloat16_is_its_bits_and_converts(tmp_path):
    values = np.array([1.0, -2.5, 0.0, np.inf, 3.0e38], "f4")
    bits = (values.view("u4") >> 16).astype("u2")
    safetensors.save_file(tmp_path / "x", {"w": bits, "f": values}, dtypes={"w": "BF16"})
    with safetensors.open_file(tmp_path / "x") as file:
        assert file.info("w").dtype == "BF16" and file["w"].itemsize == 2
        assert file["w"].view("u2").tolist() == bits.tolist()
        wanted = (bits.astype("u4") << 16).view("f4")
        assert file.f32("w").dtype == np.float32 and np.array_equal(file.f32("w"), wanted)
        assert np.shares_memory(file.f32("f"), file["f"])


def test_a_name_that_is_not_there(tmp_path):
    safetensors.save_file(tmp_path / "x", {"a": np.zeros(1)})
    with safetensors.open_file(tmp_path / "x") as file:
        with pytest.raises(KeyError, match="no tensor 'b'"):
            file["b"]
    with pytest.raises(SafetensorsError, match="complex128"):
        safetensors.save_file(tmp_path / "y", {"a": np.zeros(1, complex)})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x"]


DAMAGED = {
    "too short": (b"", None, "the size of its header alone takes 8"),
    "not json": (b"{,}", None, "not JSON"),
    "no object": (b"[1]", None, "does not begin with '{'"),
    "not utf-8": (b'{"\xff": 1}', None, "not UTF-8"),
    "a space first": (b' {"a": 1}', None, "does not begin with '{'"),
    "deep": (b'{"a":' * 100000, None, "nested too deep"),
    "digits": (b'{"a": ' + b"1" * 5000 + b"}", None, "not an object|not JSON"),
    "twice": (b'{"a": {}, "a": {}}', None, "the key 'a' twice"),
    "NaN": (b'{"a": NaN}', None, "the number NaN"),
    "header past the end": (b"{}", 11, "cut off"),
    "header of gigabytes": (b"{}", 1 << 40, "is it a .safetensors file"),
    "metadata": ({"__metadata__": {"a": 1}}, None, "not an object of strings"),
    "a number": ({"a": 1}, None, "tensor 'a' is not an object"),
    "no shape": ({"a": {"dtype": "F32", "data_offsets": [0, 8]}}, None, "'a' has no shape"),
    "more": ({"a": tensor(strides=[4])}, None, "the key 'strides'"),
    "dtype": ({"a": tensor("F8_E4M3")}, None, "'F8_E4M3' is none of F64, F32"),
    "dtype list": ({"a": tensor(["F32"])}, None, "is none of"),
    "negative": ({"a": tensor(shape=(-2,))}, None, "whole numbers from 0 on"),
    "bool": ({"a": tensor(shape=(True,))}, None, "whole numbers from 0 on"),
    "float": ({"a": tensor(shape=(2.0,))}, None, "whole numbers from 0 on"),
    "dimensions": ({"a": tensor(shape=(1,) * 40)}, None, "40 dimensions"),
    "size": ({"a": tensor(shape=(3,))}, None, r"has 8 bytes; F32 of shape \[3\] takes 12"),
    "overflow": ({"a": tensor(shape=(1 << 62, 1 << 62))}, None, "which no array has"),
    "huge and empty": ({"a": tensor(shape=(0, 1 << 62), offsets=(0, 0))}, None,
                       "which no array has"),
    "backwards": ({"a": tensor(offsets=(8, 0))}, None, r"\[begin, end\]"),
    "three offsets": ({"a": tensor(offsets=(0, 8, 9))}, None, r"\[begin, end\]"),
    "gap": ({"a": tensor(offsets=(4, 12))}, None, "behind a gap"),
    "overlap": ({"a": tensor(), "b": tensor(offsets=(4, 12))}, None, "overlaps"),
    "past the end": ({"a": tensor(shape=(4,), offsets=(0, 16))}, None, "take 16 bytes"),
    "data unused": ({}, None, "take 0 bytes"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_damaged_is_a_sentence(tmp_path, case):
    header, header_bytes, wanted = DAMAGED[case]
    path = write(tmp_path / "x", header, b"\0" * 8, header_bytes)
    if case == "too short":
        path.write_bytes(b"1234567")
    with pytest.raises(SafetensorsError, match=wanted) as caught:
        safetensors.open_file(path)
    assert str(caught.value).startswith(f"{path}: ") and "\n" not in str(caught.value)


def test_damaged_at_random_is_refused_or_read_whole(tmp_path):
    """Whatever changed, an array is never one that does not fit the file."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    path = tmp_path / "x"
    made = {"a": np.arange(6, dtype="f4").reshape(2, 3), "b": np.arange(5, dtype="u1"),
            "c": np.zeros((0, 2))}
    safetensors.save_file(path, made, {"k": "v"})
    right = path.read_bytes()
    header = int.from_bytes(right[:8], "little")
    refused = 0
    for _ in range(2000):
        data = bytearray(right)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(min(8 + header, len(data)) if chance.random() < 0.9
                                  else len(data))
            how = chance.randrange(4)
            if how == 0:
                data[at:at + 1] = bytes([chance.choice(b'0123456789{}[],:"-.eE \\\xff\0')])
            elif how == 1:
                data[at] ^= 1 << chance.randrange(8)
            elif how == 2:
                del data[at:at + chance.randint(1, 20)]
            else:
                data[at:at] = data[at:at + chance.randint(1, 20)]
        path.write_bytes(data)
        try:
            with safetensors.open_file(path) as file:
                assert sum(array.nbytes for array in file.values()) <= len(data)
        except SafetensorsError:
            refused += 1
    assert refused > 1000


def test_what_would_be_written_wrong_is_refused(tmp_path):
    path, a = tmp_path / "x.safetensors", np.ones(2, np.float16)
    for tensors, options in (({"a": np.array([1, 2], object)}, {"dtypes": {"a": "U64"}}),
                             ({"a": a}, {"dtypes": {"a": "BF16"}}), ({1: a, "1": a}, {}),
                             ({"__metadata__": a}, {}), ({"a": a}, {"metadata": {"steps": 1}})):
        with pytest.raises(safetensors.SafetensorsError):
            safetensors.save_file(path, tensors, **options)
    assert not os.listdir(tmp_path)
