#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the repository, as findings `path:line: sentence`; exit status 1 if there are any.

Without arguments: includes respect contrib/layers.txt, sizes of files and functions, licence lines,
to-do marks, README length; that every public header compiles alone in C17 and C++17, that
tern/tern.h has all of them or names them, and that any two headers can be included together. With
--changed also clang-format and clang-tidy on what differs from origin (or, where nothing does, from
the commit before), using build/release/compile_commands.json.

The rules are in contrib/rules/, a file for each subject.
"""

import sys

sys.dont_write_bytecode = True

from rules import changed, floors, headers, texts
from rules.tree import Findings, repository_files


def main():
    if sys.argv[1:] not in ([], ["--changed"]):
        sys.exit("usage: contrib/tidy.py [--changed]")
    findings = Findings()
    files = repository_files()
    floors.check_includes(files, floors.read_layers(findings), findings)
    texts.check_texts(files, findings)
    headers.check_headers(files, findings)
    if sys.argv[1:]:
        changed.check_changed(files, findings)
    for line in findings.warnings + sorted(set(findings.errors)):
        print(line)
    print(f"tidy: {len(files)} files, {len(set(findings.errors))} findings")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
