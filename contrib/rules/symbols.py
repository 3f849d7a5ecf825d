# SPDX-License-Identifier: Apache-2.0
"""What the objects of a floor need from others is in floors that it may use: a declaration can be repeated,
and a table filled from above, without an include that shows it."""

import shutil
import subprocess
from pathlib import Path

from rules.floors import allowed_floors
from rules.tree import ROOT

OBJECTS = "CMakeFiles/tern_objects.dir"


def symbols_of(objects):
    """For each object the symbols that it defines for others, and those that it needs."""
    table = {}
    done = subprocess.run(["nm", "-A", "-g", *map(str, objects)], capture_output=True, text=True)
    for line in done.stdout.splitlines():
        path, _, rest = line.rpartition(":")
        *_, kind, name = rest.split()
        defined, needed = table.setdefault(Path(path), (set(), set()))
        (needed if kind in "Uvw" else defined).add(name)
    return table


def check_symbols(build, layers, findings):
    folder = Path(build) / OBJECTS
    objects = sorted(folder.rglob("*.o")) if folder.is_dir() else []
    table = symbols_of(objects) if objects and shutil.which("nm") else {}
    if not table:
        print(f"tidy: symbols are left out: {'nm is not installed' if objects else f'no objects in {folder}'}")
        return
    places, owner = {}, {}
    for path, (defined, _) in table.items():
        source = path.relative_to(folder).with_suffix("")  # src/FLOOR/NAME.c
        floor, allowed = allowed_floors(source, layers)
        if (ROOT / source).exists() and allowed is not None:
            places[path] = source, floor, allowed
            owner.update(dict.fromkeys(defined, (source, floor)))
    for path, (source, floor, allowed) in places.items():
        for name in sorted(table[path][1] & set(owner)):
            maker, below = owner[name]
            if below not in allowed:
                findings.error(source, 1, f"needs {name} of {maker}: contrib/layers.txt gives "
                                          f"{floor} no {below}")
