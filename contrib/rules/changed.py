# SPDX-License-Identifier: Apache-2.0
"""clang-format and clang-tidy on what differs from origin."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from rules.floors import INCLUDE
from rules.tree import C_FAMILY, ROOT, git, read_text


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
