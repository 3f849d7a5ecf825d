# SPDX-License-Identifier: Apache-2.0
"""Includes go down only: contrib/layers.txt has the floors."""

import re
from pathlib import Path

from rules.tree import C_FAMILY, ROOT, read_text

# Stands in contrib/layers.txt for the faces as programs include them.
FACES = "include/faces"
# Optional libraries, each touched in one folder of src/ only.
ONE_FOLDER = {"mpi.h", "hwloc.h", "cblas.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(<([^>]+)>|"([^"]+)")')


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
        for other in sorted(allowed - set(layers) - {FACES}):
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
        floor = floor_of(parts, layers) or "cli"
        return floor, layers.get(floor, set())
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
    if face and floor.split("/")[0] != "faces" and FACES not in allowed:
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
                users.setdefault((path.parts[0], name), {}).setdefault(path.parent, (path, number))
    for (_, name), folders in users.items():
        for path, number in list(folders.values())[1:]:
            findings.error(path, number, f"{name} is already used in another folder; keep it to one")
