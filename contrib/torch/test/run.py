#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of contrib/torch, or the files of them that are given, with a Python that has a torch,
after building the package for it where that is needed. One process for all, as torch takes a second to
import and ranks are forked. Exit status 77, with a sentence, where no Python has a torch and its headers."""

import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
NO_TORCH = 3
SKIPPED = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", default=ROOT / "build/release/lib/libtern.a")
    parser.add_argument("files", nargs="*", default=[HERE])
    args = parser.parse_args()
    output = ROOT / "build/torch"
    reasons = []
    for python in dict.fromkeys((os.environ.get("TORCH_PYTHON", "/usr/bin/python3"), sys.executable)):
        built = subprocess.run([python, HERE.parent / "build.py", "--library", args.library,
                                "--output", output], capture_output=True, text=True, check=False)
        if built.returncode == 0:
            env = {**os.environ, "PYTHONPATH": f"{output}{os.pathsep}{HERE}"}
            return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args.files],
                                  env=env, check=False).returncode
        if built.returncode != NO_TORCH:
            sys.exit(built.stderr)
        reasons.append(built.stderr.strip())
    print("skipped: " + "; ".join(reasons))
    return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
