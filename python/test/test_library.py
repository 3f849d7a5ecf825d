# SPDX-License-Identifier: Apache-2.0
"""The library: how it is found, that the table of prototypes is what the headers say, errors."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tern
from tern import _errors, _library

ROOT = Path(__file__).resolve().parents[2]

SCALARS = {
    "int": "int", "size_t": "size", "int64_t": "i64", "uint64_t": "u64", "int32_t": "i32",
    "uint32_t": "u32", "uint8_t": "u8", "double": "double", "bool": "bool", "void": "none",
}
DECLARATION = re.compile(
    r"TERN_(?:API|CALL)\s+([^;{}()]*?)\b(\w+)\(((?:[^()]|\([^()]*\))*)\)\s*;"
)


def header_texts():
    for path in [*(ROOT / "include/tern").glob("*.h"), ROOT / "include/faces/comm.h"]:
        yield re.sub(r"//[^\n]*", "", path.read_text())


def type_words(texts):
    """C type -> word: integers by name, enums int, typedefs of integers and of functions."""
    words = dict(SCALARS)
    whole = "\n".join(texts)
    for name in re.findall(r"typedef \w+ \(\*(\w+)\)\(", whole):
        words[name] = "ptr"
    for name in re.findall(r"typedef enum \w+ \{[^}]*\} (\w+);", whole):
        words[name] = "int"
    for old, name in re.findall(r"typedef (\w+) (\w+);", whole):
        words.setdefault(name, words.get(old, old))
    for name in re.findall(r"typedef struct \w+ \*(\w+);", whole):
        words[name] = "ptr"
    return words


def word_of(text, words):
    if "*" in text or "[" in text:
        return "ptr"
    return words[text.replace("const ", "").split()[0]]


def test_prototypes_are_those_of_the_headers():
    texts = list(header_texts())
    words = type_words(texts)
    seen = {}
    for text in texts:
        for result, name, arguments in DECLARATION.findall(text):
            seen[name] = (result.strip(), " ".join(arguments.split()))
    table = _library.prototypes()
    assert len(table) > 150
    for name, (result, arguments) in table.items():
        c_result, c_arguments = seen[name]
        wanted = "text" if c_result == "const char *" else word_of(c_result, words)
        assert result == wanted, name
        parts = [] if c_arguments == "void" else c_arguments.split(",")
        assert list(arguments) == [word_of(part.strip(), words) for part in parts], name


def test_every_function_of_the_table_is_in_the_library():
    library = _library.lib()
    for name in _library.prototypes():
        assert getattr(library, name) is getattr(library, name)


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment},
    )


def test_importing_loads_nothing():
    done = run("import tern, sys; assert not any('ctypes' in m for m in sys.modules); dir(tern)",
               TERN_LIBRARY="/nowhere/libtern.so")
    assert done.returncode == 0, done.stderr


def test_a_library_that_is_not_there_is_a_sentence():
    done = run("import tern._library as l; l.lib()", TERN_LIBRARY="/nowhere/libtern.so")
    assert "TERN_LIBRARY is /nowhere/libtern.so, and there is no such file" in done.stderr


def test_a_file_that_is_no_library_is_a_sentence(tmp_path):
    (tmp_path / "libtern.so").write_text("text")
    done = run("import tern._library as l; l.lib()", TERN_LIBRARY=str(tmp_path / "libtern.so"))
    assert "libtern cannot be loaded" in done.stderr
    assert "TERN_LIBRARY=/path/to/libtern.so says where it is" in done.stderr


def test_statuses_are_those_of_the_library():
    rows = re.findall(r"TERN_STATUS\((\w+), (-?\d+), \"(.*)\"\)",
                      (ROOT / "include/tern/status.def").read_text())
    assert _errors.status_table() == {f"TERN_{name}": int(number) for name, number, _ in rows}
    for name, number, text in rows:
        assert _errors.status_text(int(number)) == text
        if int(number) < 0:
            assert _errors.CLASSES[f"TERN_{name}"].__name__ in dir(tern)


def test_a_failed_call_raises_its_class_with_the_sentence():
    topo = ctypes.c_void_p()
    with pytest.raises(tern.ArgumentError, match="nonsense") as caught:
        _errors.check(_library.lib().tern_topo_create(b"nonsense", ctypes.byref(topo)))
    error = caught.value
    assert isinstance(error, (tern.Error, ValueError))
    assert error.name == "TERN_ERR_ARG" and error.status == _errors.status_number(error.name)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.status) == (type(error), str(error), error.status)


def test_every_class_can_be_made_and_pickled():
    for name, number in _errors.status_table().items():
        if number < 0:
            error = _errors.make(number, f"a sentence about {name}")
            again = pickle.loads(pickle.dumps(error))
            assert type(again) is _errors.CLASSES[name]
            assert str(again) == f"a sentence about {name}" and again.name == name
    with pytest.raises(TimeoutError):
        raise _errors.make(_errors.status_number("TERN_ERR_TIMEOUT"), "late")


def test_public_names_in_any_order():
    names = sorted(tern.__all__)
    for order in (names, names[::-1]):
        code = "import tern\n" + "".join(f"tern.{name}\n" for name in order)
        code += "assert callable(tern.launch) and callable(tern.init) and tern.platform.comm_init"
        done = run(code)
        assert done.returncode == 0, done.stderr


def test_a_name_that_there_is_not():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tern.nothing
