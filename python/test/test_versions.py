# SPDX-License-Identifier: Apache-2.0
"""All files run with Python 3.9, the oldest that there may be, up to 3.13: their syntax, and what
they use of the standard library, neither too new nor gone. As far as a file's text tells."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest

PYTHON = Path(__file__).resolve().parents[1]
ROOT = PYTHON.parent
FILES = sorted(file for folder in ("python", "examples", "contrib")
               for file in (ROOT / folder).rglob("*.py"))

# Of the standard library, what 3.9 has not. A module, or a name of one.
NEWER = {
    "tomllib", "contextlib.aclosing", "contextlib.chdir", "dataclasses.KW_ONLY", "datetime.UTC",
    "enum.StrEnum", "enum.verify", "enum.member", "hashlib.file_digest",
    "inspect.get_annotations", "itertools.batched", "itertools.pairwise", "math.cbrt",
    "math.exp2", "math.sumprod", "operator.call", "os.eventfd", "os.splice",
    "os.process_cpu_count", "statistics.correlation", "statistics.linear_regression",
    "sys.exception", "sys.orig_argv", "sys.stdlib_module_names", "sys.monitoring",
    "traceback.TracebackException.print", "types.EllipsisType", "types.NoneType",
    "types.UnionType", "typing.Concatenate", "typing.LiteralString", "typing.Never",
    "typing.NotRequired", "typing.ParamSpec", "typing.Required", "typing.Self",
    "typing.TypeAlias", "typing.TypeGuard", "typing.TypeVarTuple", "typing.Unpack",
    "typing.assert_never", "typing.assert_type", "typing.is_typeddict", "typing.override",
    "typing.reveal_type",
}
NEWER_BUILTINS = {"aiter", "anext", "BaseExceptionGroup", "ExceptionGroup", "EncodingWarning"}
# Whatever they are called on: these names belong to nothing else here.
NEWER_METHODS = {"add_note", "bit_count", "hardlink_to", "is_junction"}
NEWER_WORDS = {
    "zip": {"strict"}, "map": {"strict"}, "dataclass": {"slots", "kw_only", "match_args"},
    "bisect": {"key"}, "bisect_left": {"key"}, "bisect_right": {"key"}, "rmtree": {"onexc"},
    "glob": {"root_dir", "dir_fd", "include_hidden"},
}

# Gone by 3.13, or before.
GONE = {
    "aifc", "asynchat", "asyncore", "audioop", "binhex", "cgi", "cgitb", "chunk", "crypt",
    "distutils", "formatter", "imghdr", "imp", "lib2to3", "macpath", "mailcap", "msilib", "nis",
    "nntplib", "ossaudiodev", "parser", "pipes", "smtpd", "sndhdr", "spwd", "sunau", "symbol",
    "telnetlib", "uu", "xdrlib", "ast.Bytes", "ast.Ellipsis", "ast.NameConstant", "ast.Num",
    "ast.Str", "configparser.SafeConfigParser", "importlib.find_loader",
    "inspect.formatargspec", "inspect.getargspec", "locale.resetlocale", "pkgutil.ImpImporter",
    "pkgutil.ImpLoader", "re.template", "ssl.wrap_socket", "sys.setcheckinterval", "typing.io",
    "typing.re", "unittest.findTestCases", "unittest.makeSuite", "webbrowser.MacOSX",
}
GONE_METHODS = {"assertEquals", "assertNotEquals", "assertRegexpMatches", "failUnless"}


class Uses(ast.NodeVisitor):
    """What a file says of modules: "os.eventfd", and of all else "name" and ".name"."""

    def __init__(self):
        self.modules, self.found, self.wrong = {}, [], []

    def say(self, node, name):
        self.found.append((node.lineno, name))

    def visit_Import(self, node):
        for one in node.names:
            self.modules[one.asname or one.name.split(".")[0]] = one.name
            self.say(node, one.name.split(".")[0])

    def visit_ImportFrom(self, node):
        if node.level == 0 and node.module is not None:
            self.say(node, node.module.split(".")[0])
            for one in node.names:
                self.say(node, f"{node.module}.{one.name}")

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            self.say(node, f"{self.modules[node.value.id]}.{node.attr}")
        self.say(node, f".{node.attr}")
        self.generic_visit(node)

    def visit_Name(self, node):
        self.say(node, f"builtins.{node.id}")

    def visit_Call(self, node):
        name = getattr(node.func, "attr", getattr(node.func, "id", None))
        for word in node.keywords:
            if word.arg in NEWER_WORDS.get(name, ()):
                self.wrong.append((node.lineno, f"{name}({word.arg}=)"))
        if name in ("isinstance", "issubclass") and len(node.args) == 2 and isinstance(
                node.args[1], ast.BinOp):
            self.wrong.append((node.lineno, f"{name}(…, a | b)"))
        self.generic_visit(node)


def wrong_in(text):
    """(line, what) of what 3.9 has not, or 3.13 no longer."""
    uses = Uses()
    uses.visit(ast.parse(text))
    wrong = (NEWER | GONE | {f".{name}" for name in NEWER_METHODS | GONE_METHODS}
             | {f"builtins.{name}" for name in NEWER_BUILTINS})
    return uses.wrong + [use for use in uses.found if use[1] in wrong]


def test_there_are_files():
    assert len(FILES) > 100 and PYTHON / "tern" / "comm.py" in FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_file_is_for_all_versions(file):
    text = file.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # '\d' in a string is an error one day
        for version in ((3, 9), (3, 13)):
            tree = ast.parse(text, str(file), feature_version=version)
        compile(text, str(file), "exec", dont_inherit=True)
    annotated = any(isinstance(node, ast.FunctionDef) and node.returns is not None
                    for node in ast.walk(tree))
    assert not annotated or "from __future__ import annotations" in text
    assert wrong_in(text) == []


@pytest.mark.parametrize("text, what", [
    ("import tomllib", "tomllib"), ("from itertools import pairwise", "itertools.pairwise"),
    ("import os as o\no.eventfd(0)", "os.eventfd"), ("zip(a, b, strict=True)", "zip(strict=)"),
    ("isinstance(a, int | str)", "isinstance(…, a | b)"), ("import distutils.core", "distutils"),
    ("raise ExceptionGroup('', [])", "builtins.ExceptionGroup"), ("e.add_note('')", ".add_note"),
    ("@dataclass(slots=True)\nclass A: pass", "dataclass(slots=)"),
    ("(3).bit_count()", ".bit_count"),
    ("from imp import reload", "imp"), ("test.assertEquals(1, 1)", ".assertEquals"),
])
def test_what_is_wrong_is_found(text, what):
    assert what in [name for _, name in wrong_in(text)]


def test_newer_syntax_is_found():
    for text in ("match a:\n    case 1: pass", "try: pass\nexcept* ValueError: pass",
                 "def f[T](a: T): pass", "type A = int"):
        with pytest.raises(SyntaxError):
            ast.parse(text, feature_version=(3, 9))
