#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: contrib/api.py OUTPUT.html

Makes a page of the interface from include/tern/*.h: the opening comment of each header, then its
declarations with the comments above them, and an index of all names. Nothing is kept twice: what is
wrong on the page is wrong in a header. Fails when a function has no comment above it or its group.
"""

import html
import re
import sys
from pathlib import Path

INCLUDE = Path(__file__).resolve().parent.parent / "include"
NAME = re.compile(r"\bTERN_(?:API|CALL)\b[^;{]*?\b(tern_\w+)\(", re.S)
TYPE = re.compile(r"\b(?:struct|enum) (tern_\w+) \{|\btypedef [^;{]*?\b(tern_\w+)(?:\(|;)|\} (tern_\w+);")
TABLE = re.compile(r'#define (\w+)\(([^)]*)\)(.*)\n#include "(tern/\w+\.def)"\n#undef \w+\n')
STYLE = """body { font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }
pre { background: #f4f4f4; padding: .6em; overflow-x: auto } h2 { border-top: 1px solid; padding-top: 1em }
nav { columns: 16em; font-family: monospace } p { margin: .6em 0 }"""


def expand_table(match):
    """The lines that a #define, a #include of a .def file and an #undef stand for."""
    macro, names, body, path = match.groups()
    lines = []
    for entry in re.findall(rf"^{macro}\w*\((.*)\)$", (INCLUDE / path).read_text(), re.M):
        values = dict(zip((n.strip() for n in names.split(",")), (v.strip() for v in entry.split(","))))
        text = re.sub(r"\w+##(\w+)|(\w+)", lambda m: m[0].replace(m[1] or m[2], values.get(
            m[1] or m[2], m[1] or m[2])), body).replace("##", "")
        lines.append("    " + re.sub(r"\((-?\d+)\)", r"\1", text.strip()))
    return "\n".join(lines) + "\n"


def blocks_of(text):
    """The parts of a header between empty lines, where no brace is open."""
    block, depth = [], 0
    for line in text.splitlines() + [""]:
        if not line.strip() and depth == 0:
            if block:
                yield "\n".join(block)
            block = []
        else:
            block.append(line)
            code = line.split("//")[0]
            depth += code.count("{") - code.count("}")


def prose(lines):
    """Comment lines as paragraphs; what is indented stays as it is."""
    out, paragraph, verbatim = [], [], []

    def flush():
        if paragraph:
            out.append(f"<p>{html.escape(' '.join(paragraph))}</p>")
        if verbatim:
            out.append(f"<pre>{html.escape(chr(10).join(verbatim))}</pre>")
        paragraph.clear()
        verbatim.clear()

    for line in lines:
        line = line[2:]
        indented = line.startswith("    ")
        if not line.strip() or (indented and paragraph) or (not indented and verbatim):
            flush()
        if line.strip():
            (verbatim if indented else paragraph).append(line[4:] if indented else line.strip())
    flush()
    return "\n".join(out)


def read_header(path):
    """(html of a header, its public names, sentences about what is wrong)."""
    text = TABLE.sub(expand_table, path.read_text())
    text = re.sub(r"^(#ifndef|#endif|#ifdef|#else|#include|TERN_(BEGIN|END)_DECLS).*\n", "", text, flags=re.M)
    text = re.sub(r"^#define \w+_H\n", "\n", text, flags=re.M)
    parts, names, wrong, commented = [], [], [], False
    for number, block in enumerate(blocks_of(text)):
        lines = block.splitlines()
        count = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
        comment, code = lines[:count], "\n".join(lines[count:])
        comment = [line for line in comment if "SPDX" not in line]
        functions = NAME.findall(code)
        found = functions + [n for match in TYPE.findall(code) for n in match if n]
        commented = bool(comment) or (commented and bool(functions))
        wrong += [f"{path.name}: {n} has no comment" for n in functions if not commented]
        fresh = [n for n in dict.fromkeys(found) if n not in names]
        names += fresh
        anchors = "".join(f'<a id="{n}"></a>' for n in fresh)
        code = re.sub(r"\bTERN_(API|CALL) ", "", code)
        shown = f"{anchors}<pre>{html.escape(code)}</pre>" if code.strip() else ""
        parts.append(prose(comment) + shown if number == 0 else shown + prose(comment))
    return "\n".join(parts), names, wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sections, index, wrong = [], {}, []
    headers = sorted((INCLUDE / "tern").glob("*.h"), key=lambda p: (p.name != "tern.h", p.name))
    for path in headers:
        body, names, complaints = read_header(path)
        index.update((name, path) for name in names)
        wrong += complaints
        sections.append(f'<h2 id="{path.name}">tern/{path.name}</h2>\n{body}')
    if wrong:
        sys.exit("api.py: " + "\n".join(wrong))
    links = "<br>\n".join(f'<a href="#{name}">{name}</a>' for name in sorted(index))
    top = " ".join(f'<a href="#{p.name}">{p.name}</a>' for p in headers)
    Path(sys.argv[1]).write_text(
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>tern: the interface</title>\n'
        f"<style>{STYLE}</style></head><body>\n<h1>tern: the interface</h1>\n<p>Made from the headers: "
        f"{top}</p>\n" + "\n".join(sections) + f"\n<h2>Index</h2>\n<nav>{links}</nav>\n</body></html>\n")


if __name__ == "__main__":
    main()
