# SPDX-License-Identifier: Apache-2.0
"""PyTorch's calls with tern and with Gloo, in turn: runs contrib/torch/bench.py where `make torch` has
built the package. Used by bench/run.py."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORDS = (("2 ranks", ["-n", "2"]), ("2 ranks, steps of models", ["-n", "2", "--ddp"]), ("4 ranks", ["-n", "4"]))


def measure(quick, rounds):
    """The chapter about PyTorch as Markdown, and whether every part has a table; none without the package."""
    package = os.path.join(ROOT, "build", "torch")
    if not os.path.exists(os.path.join(package, "tern_torch")):
        print("tern_torch is not built (`make torch`); its chapter is left out")
        return "", True
    python = os.environ.get("TORCH_PYTHON", "/usr/bin/python3")
    text = ("## PyTorch\n\n"
            f"Ordinary tensors, and tensors in windows; medians of {rounds} rounds, in which Gloo and tern take "
            "turns. A ratio says how many times better tern is, with the least and the greatest of one round "
            "in brackets.\n")
    good = True
    for title, words in WORDS[:1] if quick else WORDS:
        command = [python, os.path.join(ROOT, "contrib", "torch", "bench.py"), *words, "--rounds", str(rounds)]
        command += ["--kinds", "all_reduce", "--seconds", "0.001"] if quick else []
        done = subprocess.run(command, capture_output=True, text=True, check=False,
                              env=dict(os.environ, PYTHONPATH=package))
        lines = [line for line in done.stdout.splitlines() if line.startswith("|")]
        if done.returncode != 0 or len(lines) < 3:
            print(f"PyTorch, {title}: {done.stderr.strip()[-300:]}", file=sys.stderr)
            good = False
            continue
        text += f"\n### PyTorch, {title}\n\n" + "\n".join(lines) + "\n"
    return text, good
