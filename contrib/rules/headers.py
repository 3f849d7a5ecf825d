# SPDX-License-Identifier: Apache-2.0
"""Headers: every public one compiles alone in C17 and C++17 and is in tern/tern.h or named there; those
of the library all compile together, and so do those of the command; no source takes a tag of theirs."""

import concurrent.futures
import os
import re
import shutil
import subprocess

from rules.tree import ROOT, read_text

GUARD = re.compile(r"#ifndef (TERN_\w+_H)$")
TAG = re.compile(r"\s*(?:typedef )?(?:struct|union|enum) (\w+) \{")


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


def check_alone(files, findings):
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


def inner_headers(files, room):
    """The headers of a room and the public ones; not those without a guard, which are meant to be
    included several times."""
    found = {}
    for path in files:
        if path.suffix == ".h" and path.parts[0] in (room, "include") and path.parts[1] != "faces" \
                and not {"test", "fuzz"} & set(path.parts):
            guard = next((m for m in map(GUARD.match, read_text(path) or []) if m), None)
            if guard:
                found[path] = guard[1]
    return found


def check_together(files, findings):
    """Any two headers can be included by one file: no tag, type, constant or guard exists twice."""
    compiler = os.environ.get("CC", "gcc").split()
    for room in ("src", "cli"):
        headers = inner_headers(files, room)
        guards = {}
        for path, guard in headers.items():
            if guards.setdefault(guard, path) != path:
                findings.error(path, 1, f"{guard} is already the guard of {guards[guard]}")
        done = subprocess.run(
            [*compiler, "-std=c17", "-D_GNU_SOURCE", "-fsyntax-only", "-Werror", f"-I{room}",
             "-Iinclude", "-Iinclude/faces", "-x", "c", "-"], cwd=ROOT, capture_output=True,
            text=True, input="".join(f'#include "{ROOT / path}"\n' for path in headers))
        for place, line, sentence in re.findall(r"^(.+?):(\d+):\d+: error: (.*)$", done.stderr, re.M):
            findings.error(os.path.relpath(place, ROOT) if os.path.isabs(place) else place, line,
                           f"with all headers of {room} in one file: {sentence}")


def check_tags(files, findings):
    """A source that includes any header may define its own tags: none of them is a header's."""
    for room in ("src", "cli"):
        shared = {}
        for path in inner_headers(files, room):
            for line in read_text(path):
                match = TAG.match(line)
                if match:
                    shared[match[1]] = path
        for path in files:
            if path.suffix != ".c" or path.parts[0] != room or {"test", "fuzz"} & set(path.parts):
                continue
            for number, line in enumerate(read_text(path) or [], 1):
                match = TAG.match(line)
                if match and match[1] in shared:
                    findings.error(path, number, f"{match[1]} is already a tag of {shared[match[1]]}")


def check_headers(files, findings):
    check_alone(files, findings)
    check_whole(files, findings)
    check_together(files, findings)
    check_tags(files, findings)
