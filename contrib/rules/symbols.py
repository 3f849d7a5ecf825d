# SPDX-License-Identifier: Apache-2.0
"""What objects need. Of other floors only what contrib/layers.txt allows: a declaration can be repeated, and a
table filled from above, without an include that shows it. Of the files of a floor one way: a circle is a
file that is missing. And nothing that the head of their file, or of its header, says it does without."""

import re
import shutil
import subprocess
from pathlib import Path

from rules.floors import allowed_floors
from rules.tree import ROOT, read_text

OBJECTS = "CMakeFiles/tern_objects.dir"
# "no allocation, lock, system call or log": what the words stand for, as far as symbols show it.
WORD = r"(?:allocation|lock|log|system call)(?! but)\b"
PROMISE = re.compile(rf"\b[Nn]o {WORD}(?:(?:, | or )(?:no )?{WORD})*")
PROMISED = {
    "allocation": {"malloc", "calloc", "realloc", "aligned_alloc", "posix_memalign", "strdup",
                   "asprintf", "mmap", "tern__handle_new"},
    "lock": {"pthread_mutex_lock", "pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_spin_lock",
             "pthread_cond_wait", "sem_wait", "flock"},
    "log": {"tern__log", "printf", "fprintf", "puts", "fputs", "perror"},
}


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
    check_circles(places, owner, table, findings)
    check_promises(places, table, findings)


def circles_of(needs):
    """Of {file: the files it needs} those that need each other, as sets of two or more."""
    reached = {}
    for file in needs:
        seen, left = set(), [file]
        while left:
            fresh = needs.get(left.pop(), set()) - seen
            seen |= fresh
            left.extend(fresh)
        reached[file] = seen
    circles = {frozenset(other for other in seen if file in reached.get(other, ()))
               for file, seen in reached.items() if file in seen}
    return sorted(circles, key=sorted)


def check_circles(places, owner, table, findings):
    """Circles of files of one floor: there is none."""
    needs = {}
    for path, (source, floor, _) in places.items():
        makers = (owner[name] for name in table[path][1] & set(owner))
        needs[source] = {maker for maker, below in makers if below == floor and maker != source}
    for circle in circles_of(needs):
        first, *others = sorted(circle)
        findings.error(first, 1, f"calls and is called by {', '.join(file.name for file in others)}: calls "
                                 "between the files of a floor go one way")


def promises_of(source):
    """What the head of a file, and that of the header beside it, say that it does without. What is followed
    by "but" has exceptions, and is for people to check."""
    words = set()
    for path in (source, source.with_suffix(".h")):
        lines = (read_text(path) or [])[1:] if (ROOT / path).exists() else []
        head = [line[2:].strip() for line in lines[:next(
            (i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))]]
        for match in PROMISE.finditer(" ".join(head)):
            words.update(re.findall(r"\b(?:allocation|lock|log)\b", match[0]))
    return words


def check_promises(places, table, findings):
    for path, (source, _, _) in places.items():
        for word in sorted(promises_of(source)):
            for name in sorted(table[path][1] & PROMISED[word]):
                findings.error(source, 1, f"says that it does without any {word}, and needs {name}")
