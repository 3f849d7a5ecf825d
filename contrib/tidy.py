#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the repository, as findings `path:line: sentence`; exit status 1 if there are any.

Without arguments: includes respect contrib/layers.txt, sizes of files and functions, licence lines,
to-do marks, README length, that every public header compiles alone in C17 and C++17, and that
tern/tern.h has all of them or names them. With
--changed also clang-format and clang-tidy on what differs from origin (or, where nothing does, from
the commit before), using build/release/compile_commands.json.
"""

import ast
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE_WARN, FILE_FAIL, FUNCTION_FAIL, README_FAIL = 400, 800, 70, 150
C_FAMILY = {".c", ".h", ".cpp", ".hpp", ".cc", ".def"}
HASH_FAMILY = {".py", ".sh", ".cmake"}
HASH_NAMES = {"Makefile", "CMakeLists.txt", ".ci/run"}
# Optional libraries, each touched in one folder of src/ only.
ONE_FOLDER = {"mpi.h", "hwloc.h", "cblas.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(<([^>]+)>|"([^"]+)")')
MARK = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")


class Findings:
    """Collects findings; warnings are shown but do not fail."""

    def __init__(self):
        self.errors = []
        self.warnings = []

    def error(self, path, line, sentence):
        self.errors.append(f"{path}:{line}: {sentence}")

    def warn(self, path, line, sentence):
        self.warnings.append(f"{path}:{line}: warning: {sentence}")


def git(*args):
    """Output lines of a git command in the tree, or None if it fails."""
    try:
        done = subprocess.run(["git", *args], cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout.splitlines() if done.returncode == 0 else None


def repository_files():
    """Paths, relative to the root, of what is tracked or would be; without git, of everything."""
    listed = git("ls-files", "-co", "--exclude-standard") if (ROOT / ".git").exists() else None
    if listed is None:
        listed = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if f not in (".git", "build", "__pycache__")]
            listed += [str((Path(folder) / n).relative_to(ROOT)) for n in names]
    return [Path(p) for p in sorted(set(listed)) if (ROOT / p).is_file()]


def read_text(path):
    """The lines of a text file, or None for a binary one."""
    try:
        return (ROOT / path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return None


def read_layers(findings):
    """contrib/layers.txt as {floor: set of allowed floors}; reports unknown floors and cycles."""
    path = Path("contrib/layers.txt")
    layers, lines = {}, {}
    for number, line in enumerate(read_text(path), 1):
        if line.strip() and not line.startswith("#"):
            floor, _, allowed = line.partition(":")
            layers[floor.strip()] = set(allowed.split())
            lines[floor.strip()] = number
    for floor, allowed in layers.items():
        for other in sorted(allowed - set(layers)):
            findings.error(path, lines[floor], f"{floor} names an unknown floor: {other}")
    settled = set()
    while True:
        more = {f for f in layers if f not in settled and layers[f] & set(layers) <= settled}
        if not more:
            break
        settled |= more
    for floor in sorted(set(layers) - settled):
        findings.error(path, lines[floor], f"{floor} is part of, or stands on, a cycle of floors")
    return layers


def floor_of(parts, layers):
    """The floor that a path below src/ belongs to: the longest that is a prefix of its folders."""
    for length in range(len(parts) - 1, 0, -1):
        floor = "/".join(parts[:length])
        if floor in layers:
            return floor
    return None


def allowed_floors(path, layers):
    """(name, allowed floors or None for 'free') of a source file; name None if not a source."""
    parts = path.parts
    if parts[0] == "include":
        return "/".join(parts[:2]), set()
    if parts[0] == "cli":
        return "cli", layers.get("cli", set())
    if parts[0] != "src":
        return None, None
    floor = floor_of(parts[1:], layers)
    if floor is None:
        return "src", set()
    inner = parts[1 + floor.count("/") + 1:-1]
    if inner and inner[0] in ("test", "fuzz"):
        return floor, None
    return floor, layers[floor] | {floor}


def judge_include(path, name, floor, allowed, layers):
    """A sentence if the include is not allowed, else None."""
    if name.startswith("tern/"):
        return None if (ROOT / "include" / name).exists() else f"no such header: include/{name}"
    face = (ROOT / "include/faces" / name).exists()
    target = floor_of(Path(name).parts, layers)
    if floor == "include/faces" and face:
        return None
    if target is not None and (ROOT / "src" / name).exists() or target in layers and not face:
        if target in allowed:
            return None
        return f"{floor} may not include {name}: contrib/layers.txt gives it no {target}"
    if (ROOT / path.parent / name).exists():
        return None
    if face and floor != "faces":
        return f"{floor} may not include the face {name}"
    return None


def check_includes(files, layers, findings):
    users = {}
    for path in files:
        if path.suffix not in C_FAMILY or path.parts[0] not in ("src", "include", "cli"):
            continue
        floor, allowed = allowed_floors(path, layers)
        if allowed is None:
            continue
        if floor == "src":
            findings.error(path, 1, "this folder is not a floor of contrib/layers.txt")
            continue
        for number, line in enumerate(read_text(path) or [], 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match[2] or match[3]
            sentence = judge_include(path, name, floor, allowed, layers)
            if sentence:
                findings.error(path, number, sentence)
            if name in ONE_FOLDER:
                users.setdefault(name, {}).setdefault(path.parent, (path, number))
    for name, folders in users.items():
        for path, number in list(folders.values())[1:]:
            findings.error(path, number, f"{name} is already used in another folder; keep it to one")


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


def check_texts(files, findings):
    listed = {line.split(":")[0].strip() for line in read_text("contrib/todo.txt")
              if not line.startswith("#")}
    for path in files:
        lines = read_text(path)
        if lines is None or path.name == "LICENSE":
            continue
        check_sizes(path, lines, findings)
        check_licence(path, lines, findings)
        if path.name.startswith("README") and len(lines) > README_FAIL:
            findings.error(path, README_FAIL + 1, f"{len(lines)} lines; {README_FAIL} is the limit")
        for number, line in enumerate(lines, 1):
            mark = MARK.search(line)
            if mark and str(path) not in listed:
                findings.error(path, number, f"{mark[1]}: do it now, or list it in contrib/todo.txt")


def compile_alone(path, compiler, language, standard):
    """The first complaint of the compiler about a header on its own, or None."""
    name = path.relative_to("include")
    if name.parts[0] == "faces":
        name = name.relative_to("faces")
    command = [*compiler.split(), f"-std={standard}", "-fsyntax-only", "-Wall", "-Wextra",
               "-Wpedantic", "-Werror", "-Iinclude", "-Iinclude/faces", "-include", str(name),
               "-x", language, "/dev/null"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    complaints = [l for l in done.stderr.splitlines() if "error:" in l]
    return complaints[0] if complaints else done.stderr.strip().splitlines()[0]


def check_headers(files, findings):
    jobs = []
    compilers = {"c17": (os.environ.get("CC", "gcc"), "c"),
                 "c++17": (os.environ.get("CXX", "g++"), "c++")}
    for compiler, _ in compilers.values():
        if not shutil.which(compiler.split()[0]):
            findings.error("contrib/tidy.py", 1, f"{compiler} is not installed: contrib/deps.sh")
            return
    for path in files:
        if path.parts[0] != "include" or path.suffix not in (".h", ".hpp"):
            continue
        # A face of a C++ interface may have to end in .h; it says so in its first lines.
        cpp_only = path.suffix == ".hpp" or (
            path.parts[1] == "faces" and "C++ only" in "\n".join((read_text(path) or [])[:15]))
        jobs += [(path, standard) for standard in ("c17", "c++17")
                 if not (cpp_only and standard == "c17")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = pool.map(lambda job: compile_alone(job[0], *compilers[job[1]], job[1]), jobs)
        for (path, standard), complaint in zip(jobs, answers):
            if complaint:
                findings.error(path, 1, f"does not compile alone in {standard}: {complaint}")


def check_whole(files, findings):
    """tern/tern.h includes every public header, or says in a comment why it stands apart."""
    whole = "\n".join(read_text("include/tern/tern.h"))
    for path in files:
        name = str(path.relative_to("include")) if path.parts[0] == "include" else ""
        if re.fullmatch(r"tern/\w+\.h", name) and name not in ("tern/tern.h", "tern/api.h") and \
                not re.search(rf'^(#include "|//.*\b){re.escape(name)}\b', whole, re.M):
            findings.error("include/tern/tern.h", 1, f"lacks {name}, or a word on why it is not here")


def changed_files(files):
    """Those of `files` that differ from origin, or from the commit before; all without a commit, none
    in a clone that ends before that commit."""
    base = None
    for upstream in ("@{upstream}", "origin/HEAD", "origin/main", "origin/master"):
        found = git("merge-base", "HEAD", upstream)
        if found:
            base = found[0]
            break
    dirty = git("ls-files", "-o", "--exclude-standard")
    head = git("rev-parse", "--verify", "-q", "HEAD")
    if not head or dirty is None:
        return files
    if base is None or (base == head[0] and not git("diff", "--name-only", "HEAD") and not dirty):
        base = "HEAD~1"
    differs = git("diff", "--name-only", base)
    if differs is None:
        return []
    names = set(differs) | set(dirty)
    return [p for p in files if str(p) in names]


def units_to_analyse(files, changed):
    """Entries of the compilation database: changed sources, and users of changed headers."""
    database = ROOT / "build/release/compile_commands.json"
    if not database.exists():
        return None
    known = {Path(os.path.relpath(e["file"], ROOT)) for e in json.loads(database.read_text())}
    headers = {p.name for p in changed if p.suffix in (".h", ".hpp", ".def")}
    units = []
    for path in sorted(known & set(files)):
        uses = (INCLUDE.match(line) for line in read_text(path) or [])
        if path in changed or any(m and Path(m[2] or m[3]).name in headers for m in uses):
            units.append(path)
    return units


def check_changed(files, findings):
    missing = [t for t in ("clang-format", "clang-tidy") if not shutil.which(t)]
    if missing:
        findings.error("contrib/tidy.py", 1,
                       f"not installed: {' '.join(missing)}; run contrib/deps.sh --tools")
        return
    changed = changed_files(files)
    sources = [str(p) for p in changed if p.suffix in C_FAMILY - {".def"}]
    if sources:
        done = subprocess.run(["clang-format", "--dry-run", *sources], cwd=ROOT,
                              capture_output=True, text=True)
        for place in sorted({m[1] for m in re.finditer(r"^(\S+?:\d+):\d+: warning", done.stderr, re.M)}):
            findings.errors.append(f"{place}: not formatted; run `make format`")
    units = units_to_analyse(files, changed)
    if units is None:
        findings.error("contrib/tidy.py", 1, "build/release is not configured; run `make build`")
        return

    def analyse(path):
        return subprocess.run(["clang-tidy", "--quiet", "-p", "build/release",
                               "--extra-arg=-Wno-unknown-warning-option", str(path)], cwd=ROOT,
                              capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, done in zip(units, pool.map(analyse, units)):
            hits = re.findall(r"^(\S+?:\d+):\d+: (?:error|warning): (.*)$", done.stdout, re.M)
            for place, sentence in hits:
                findings.errors.append(f"{os.path.relpath(place, ROOT)}: {sentence}")
            if done.returncode != 0 and not hits:
                findings.error(path, 1, f"clang-tidy failed: {done.stderr.strip()[-200:]}")
    print(f"tidy: clang-format on {len(sources)} files, clang-tidy on {len(units)}")


def main():
    if sys.argv[1:] not in ([], ["--changed"]):
        sys.exit("usage: contrib/tidy.py [--changed]")
    findings = Findings()
    files = repository_files()
    check_includes(files, read_layers(findings), findings)
    check_texts(files, findings)
    check_headers(files, findings)
    check_whole(files, findings)
    if sys.argv[1:]:
        check_changed(files, findings)
    for line in findings.warnings + sorted(set(findings.errors)):
        print(line)
    print(f"tidy: {len(files)} files, {len(set(findings.errors))} findings")
    return 1 if findings.errors else 0


if __name__ == "__main__":
    sys.exit(main())
