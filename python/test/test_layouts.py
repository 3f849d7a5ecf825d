# SPDX-License-Identifier: Apache-2.0
"""The structures and enumerations of ctypes are those of the headers: a C compiler compares."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tern import _enums, _layouts

INCLUDE = Path(__file__).resolve().parents[2] / "include"
STRUCTURES = [value for value in vars(_layouts).values() if hasattr(value, "C_NAME")]


def assertions():
    """Lines of C that hold when Python is right."""
    for structure in STRUCTURES:
        name = structure.C_NAME
        yield f'_Static_assert(sizeof({name}) == {ctypes.sizeof(structure)}, "{name}");'
        for field, _ in structure._fields_:
            about = getattr(structure, field)
            yield (f'_Static_assert(offsetof({name}, {field}) == {about.offset} && '
                   f'sizeof((({name} *)0)->{field}) == {about.size}, "{name}.{field}");')
    for enum, (_, prefix, words) in _enums.WORDS.items():
        for number, word in enumerate(words):
            yield f'_Static_assert({prefix}{word.upper()} == {number}, "{enum} {word}");'


def compiled(tmp_path, lines):
    source = tmp_path / "layouts.c"
    source.write_text("#include <stddef.h>\n#include <tern/tern.h>\n" + "\n".join(lines) + "\n")
    return subprocess.run(["cc", "-std=c17", f"-I{INCLUDE}", "-fsyntax-only", str(source)],
                          capture_output=True, text=True, timeout=60)


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is not installed")
def test_structures_and_numbers_are_those_of_the_headers(tmp_path):
    lines = list(assertions())
    assert len(lines) > 150
    done = compiled(tmp_path, lines)
    assert done.returncode == 0, done.stderr
    wrong = [line.replace("offsetof(tern_task, core) == 24", "offsetof(tern_task, core) == 28")
             for line in lines]
    assert wrong != lines and compiled(tmp_path, wrong).returncode != 0


def test_fields_and_words_are_all_there():
    """What a header has more of than Python has."""
    for structure in STRUCTURES:
        text = (INCLUDE / "tern" / structure.HEADER).read_text()
        body = re.search(r"typedef struct %s \{(.*?)^\}" % structure.C_NAME, text, re.S | re.M)[1]
        body = re.sub(r"//[^\n]*", "", body)
        body = re.sub(r"struct \{.*?\}", "", body, flags=re.S)
        body = re.sub(r"\(\*(\w+)\)\([^)]*\)", r"\1", body)  # of pointers to functions
        fields = re.findall(r"(\w+)(?:\[\w+\])?(?=[,;])", body)
        assert [name for name, _ in structure._fields_] == fields, structure.C_NAME
    for enum, (header, prefix, words) in _enums.WORDS.items():
        text = re.sub(r"//[^\n]*", "", (INCLUDE / "tern" / header).read_text())
        body = re.search(r"enum %s \{([^}]*)\}" % enum, text)[1]
        names = [name for name in re.findall(r"TERN_\w+", body)
                 if not name.endswith(("_RULES", "_CAUSES"))]
        assert names == [prefix + word.upper() for word in words], enum
