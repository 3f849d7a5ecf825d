#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the repository, as findings `path:line: sentence`; exit status 1 if there are any.

Without arguments: includes, and the symbols that objects need, respect contrib/layers.txt; objects
need no lock and no allocation where the head of their file says so; comments and pages name files
that exist; sizes of files and functions, licence lines, to-do marks, README length; that every public header compiles alone in C17 and C++17,
that tern/tern.h has all of them or names them, and that any two headers can be included together.
With --changed also clang-format and clang-tidy on what differs from origin (or, where nothing does,
from the commit before), using build/release/compile_commands.json.

The rules are in contrib/rules/, a file for each subject.
"""

import argparse
import sys

sys.dont_write_bytecode = True

from rules import changed, floors, headers, symbols, texts
from rules.tree import ROOT, Findings, repository_files


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--changed", action="store_true",
                        help="also clang-format and clang-tidy on what differs from origin")
    parser.add_argument("--build", metavar="DIR", default=ROOT / "build/release",
                        help="where the library's objects are (default: build/release)")
    asked = parser.parse_args()
    findings = Findings()
    files = repository_files()
    layers = floors.read_layers(findings)
    floors.check_includes(files, layers, findings)
    symbols.check_symbols(asked.build, layers, findings)
    texts.check_texts(files, findings)
    headers.check_headers(files, findings)
    if asked.changed:
        changed.check_changed(files, findings)
    for line in findings.warnings + sorted(set(findings.errors)):
        print(line)
    print(f"tidy: {len(files)} files, {len(set(findings.errors))} findings")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
