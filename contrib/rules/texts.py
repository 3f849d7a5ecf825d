# SPDX-License-Identifier: Apache-2.0
"""What a file may look like: sizes, licence lines, to-do marks, README length; and that the files
which comments and pages name exist."""

import ast
import re

from rules.tree import C_FAMILY, read_text

FILE_WARN, FILE_FAIL, FUNCTION_FAIL, README_FAIL = 400, 800, 70, 150
COLUMNS = 100
ONE_STRING = re.compile(r'\s*"(?:[^"\\]|\\.)*"[;,)}]*')
HASH_FAMILY = {".py", ".sh", ".cmake"}
HASH_NAMES = {"Makefile", "CMakeLists.txt", ".ci/run"}
NAMED = re.compile(r"(?<![\w<./$*{}~-])(?:[\w.-]+/)*[\w-]+\.(?:c|h|cpp|hpp|def|md|py|sh|cmake|txt)(?![\w/*>(-])")
SYSTEM_HEADER = re.compile(r"\s*#\s*include\s*<([^>]+)>")
MARK = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")


def count_code(lines, hash_comments):
    """Lines that are neither blank nor only comment."""
    count, inside = 0, False
    for line in lines:
        text = line.strip()
        if hash_comments:
            count += bool(text) and not text.startswith("#")
            continue
        if inside:
            inside = "*/" not in text
        elif text.startswith("/*"):
            inside = "*/" not in text
        else:
            count += bool(text) and not text.startswith("//")
    return count


def c_functions(lines):
    """(line, name, length) of each function, whose braces our format puts into column 0."""
    start = None
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{":
            head = lines[number - 2] if number > 1 else ""
            start = None if re.match(r"(namespace|class|struct|union)\b", head) else number
        elif line.startswith("}") and start is not None:
            back = start - 1
            while back > 1 and lines[back - 1][:1].isspace():
                back -= 1
            name = re.search(r"(\w+)\s*\(", lines[back - 1])
            yield start, name[1] if name else "this function", number - start - 1
            start = None


def python_functions(path, lines):
    for node in ast.walk(ast.parse("\n".join(lines), str(path))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.name, node.end_lineno - node.lineno


def check_sizes(path, lines, findings):
    hashed = path.suffix in HASH_FAMILY or str(path) in HASH_NAMES
    if path.suffix not in C_FAMILY and not hashed:
        return
    count = count_code(lines, hashed)
    if count > FILE_FAIL:
        findings.error(path, 1, f"{count} lines of code; over {FILE_FAIL} a file is split")
    elif count > FILE_WARN:
        findings.warn(path, 1, f"{count} lines of code; over {FILE_WARN} a file is looked at")
    functions = []
    if path.suffix in C_FAMILY:
        functions = c_functions(lines)
    elif path.suffix == ".py":
        functions = python_functions(path, lines)
    for line, name, length in functions:
        if length > FUNCTION_FAIL:
            findings.error(path, line, f"{name} has {length} lines; {FUNCTION_FAIL} is the limit")


def check_columns(path, lines, findings):
    """clang-format leaves comments as they are, and a string that does not fit."""
    if path.suffix not in C_FAMILY:
        return
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and not ONE_STRING.fullmatch(line):
            findings.error(path, number, f"{len(line)} columns; {COLUMNS} is the limit")


def check_licence(path, lines, findings):
    if path.suffix in C_FAMILY:
        wanted = "// SPDX-License-Identifier: Apache-2.0"
    elif path.suffix in HASH_FAMILY or path.name in HASH_NAMES or str(path) in HASH_NAMES:
        wanted = "# SPDX-License-Identifier: Apache-2.0"
    else:
        return
    first = 1 if lines and lines[0].startswith("#!") else 0
    if len(lines) <= first or not lines[first].startswith(wanted):
        findings.error(path, first + 1, f"expected here: {wanted}")


def check_spread(path, lines, findings):
    """Who joins at a path is on one machine, whatever the head of the test says."""
    if any("ctest-machines" in line for line in lines[:3]) and path.suffix == ".c":
        for number, line in enumerate(lines, 1):
            if "tern_init_at(" in line:
                findings.error(path, number, "is on one machine; ranks_join is where ctest-machines says")


def talk_of(path, line):
    """What of a line speaks to people: a comment, or all of a page."""
    if path.suffix == ".md":
        return line.replace("../", "")
    if path.suffix in C_FAMILY:
        return line.partition("//")[2]
    return line if line.lstrip().startswith("# ") else ""


def check_names(texts, findings):
    """Names may be shortened from the left: coll.h, tern/coll.h, include/tern/coll.h. A file that a user
    writes is named without a folder, in README only; NAME.c stands for any."""
    known = set()
    for path, lines in texts.items():
        known.update("/".join(path.parts[i:]) for i in range(len(path.parts)))
        known.update(m[1] for m in map(SYSTEM_HEADER.match, lines) if m)
    for path, lines in texts.items():
        if path.suffix not in C_FAMILY | HASH_FAMILY | {".md", ".txt"} or path.name == "CHANGELOG.md":
            continue
        for number, line in enumerate(lines, 1):
            for match in NAMED.finditer(talk_of(path, line)):
                name = match[0]
                if name not in known and not name.rpartition("/")[2].partition(".")[0].isupper() \
                        and (path.name != "README.md" or "/" in name):
                    findings.error(path, number, f"there is no {name}")


def check_texts(files, findings):
    listed = {line.split(":")[0].strip() for line in read_text("contrib/todo.txt")
              if not line.startswith("#")}
    texts = {path: lines for path in files if path.name != "LICENSE"
             and (lines := read_text(path)) is not None}
    check_names(texts, findings)
    for path, lines in texts.items():
        check_sizes(path, lines, findings)
        check_columns(path, lines, findings)
        check_licence(path, lines, findings)
        check_spread(path, lines, findings)
        if path.name.startswith("README") and len(lines) > README_FAIL:
            findings.error(path, README_FAIL + 1, f"{len(lines)} lines; {README_FAIL} is the limit")
        for number, line in enumerate(lines, 1):
            mark = MARK.search(line)
            if mark and str(path) not in listed:
                findings.error(path, number, f"{mark[1]}: do it now, or list it in contrib/todo.txt")
