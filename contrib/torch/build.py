#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the package tern_torch for the torch of one Python, with libtern inside:

    build.py [--python PYTHON] --library build/release/lib/libtern.a --output build/torch

Run by `make torch` and by pip. What is newer than its sources is left as it is. Exit status 3: that
Python has no torch, or one without headers."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NO_TORCH = 3

# What is asked of the Python that has the torch.
ASK = """
import json, sys, sysconfig
try:
    import torch
    from torch.utils import cpp_extension
except ImportError as error:
    sys.exit("no torch: %s" % error)
print(json.dumps({
    "version": torch.__version__,
    "abi": int(torch._C._GLIBCXX_USE_CXX11_ABI),
    "include": cpp_extension.include_paths() + [sysconfig.get_path("include")],
    "library": cpp_extension.library_paths(),
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
    "pybind": {name: getattr(torch._C, "_PYBIND11_" + name, None)
               for name in ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")},
}))
"""


def ask(python):
    """Where that Python's torch is; None and a reason when there is none."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("PYTHONPATH", "PYTHONNOUSERSITE")}  # pip's, while it builds
    answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, env=env, cwd="/")
    if answer.returncode != 0:
        return None, answer.stderr.strip().splitlines()[-1:] or ["it cannot be run"]
    facts = json.loads(answer.stdout.strip().splitlines()[-1])
    header = "torch/csrc/distributed/c10d/Store.hpp"
    folders = [*facts["include"], "/usr/include"]
    if not any(pathlib.Path(folder, header).exists() for folder in folders):
        return None, [f"torch {facts['version']} without its headers (Debian: libtorch-dev)"]
    return facts, None


def flags_of(facts):
    major, minor = facts["version"].split(".")[:2]
    flags = ["-std=c++17" if int(major) < 3 else "-std=c++20", "-O2", "-g1", "-fPIC",
             "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
             f"-D_GLIBCXX_USE_CXX11_ABI={facts['abi']}",
             f"-DTORCH_VERSION_MAJOR={major}", f"-DTORCH_VERSION_MINOR={minor}",
             f"-I{ROOT / 'include'}", f"-I{HERE / 'src'}"]
    for name, value in facts["pybind"].items():
        if value is not None:
            flags.append(f'-DPYBIND11_{name}="{value}"')
    for folder in facts["include"]:
        flags += ["-isystem", folder]
    return flags


def newest(paths):
    return max(path.stat().st_mtime for path in paths)


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def compile_all(facts, objects):
    """One object of all sources: torch's headers, of which all need most, are read once. It stays
    when it is newer than all sources and headers."""
    objects.mkdir(parents=True, exist_ok=True)
    flags = flags_of(facts)
    made, stamp, whole = objects / "tern_torch.o", objects / "flags", objects / "tern_torch.cpp"
    text = "".join(f'#include "{source}"\n' for source in sorted(HERE.glob("src/*.cpp")))
    same = all(path.exists() and path.read_text() == wanted
               for path, wanted in ((stamp, " ".join(flags)), (whole, text)))
    sources = [*HERE.glob("src/*"), *ROOT.glob("include/tern/*")]
    if same and made.exists() and made.stat().st_mtime >= newest(sources):
        return made
    stamp.write_text(" ".join(flags))
    whole.write_text(text)
    compiler = os.environ.get("CMAKE_CXX_COMPILER_LAUNCHER", "").split()
    begun = time.time()  # what is changed meanwhile is compiled next time
    run([*compiler, os.environ.get("CXX", "c++"), *flags, "-c", whole, "-o", made])
    os.utime(made, (begun, begun))
    return made


def link(facts, made, library, module):
    if module.exists() and module.stat().st_mtime >= newest([made, library]):
        return
    command = [os.environ.get("CXX", "c++"), "-shared", "-o", f"{module}.new", made,
               "-Wl,--exclude-libs,ALL", library, "-pthread", "-ldl", "-lm"]
    for folder in facts["library"]:
        command.append(f"-L{folder}")
    run([*command, "-lc10", "-ltorch_cpu", "-ltorch_python"])
    os.replace(f"{module}.new", module)


def build(python, library, output):
    """The package in output/tern_torch; NO_TORCH and a sentence where there is nothing to build
    for."""
    facts, reason = ask(python)
    if facts is None:
        print(f"tern_torch is not built: {python}: {' '.join(reason)}", file=sys.stderr)
        return NO_TORCH
    package = output / "tern_torch"
    package.mkdir(parents=True, exist_ok=True)
    compiled = compile_all(facts, output / "objects")
    link(facts, compiled, library, package / f"_C{facts['suffix']}")
    for source in (HERE / "tern_torch").glob("*.py"):
        made = package / source.name
        if not made.exists() or made.read_bytes() != source.read_bytes():
            shutil.copyfile(source, made)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/release/lib/libtern.a")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/torch")
    args = parser.parse_args()
    return build(args.python, args.library.resolve(), args.output.resolve())


if __name__ == "__main__":
    sys.exit(main())
