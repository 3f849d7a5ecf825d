# SPDX-License-Identifier: Apache-2.0
"""The tree that the rules are about, and the findings that they make."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
C_FAMILY = {".c", ".h", ".cpp", ".hpp", ".cc", ".def"}


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
