# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles alone in C17 and C++17, and tern/tern.h has all of them or names them."""

import concurrent.futures
import os
import re
import shutil
import subprocess

from rules.tree import ROOT, read_text


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
