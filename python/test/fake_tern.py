#!/usr/bin/python3 -IS
# SPDX-License-Identifier: Apache-2.0
"""A command `tern` for tests of the runner: kernel-cc writes an object that defines what FAKE_NAMES
says, run has ranks that copy their first input to each output, or do what FAKE_RANKS says.

It is started hundreds of times, so it imports little, and nothing of the site's."""

import os
import struct
import sys
import time


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def make_object(names):
    """The least of an ELF file that has a table of symbols: two sections behind the empty one."""
    texts = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    symbols, place = bytes(24), 1
    for name in names:
        symbols += struct.pack("<IBBHQQ", place, 0x12, 0, 1, 4096, 0)
        place += len(name) + 1
    head, section = 64, struct.Struct("<IIQQQQIIQQ")
    sections = section.pack(*[0] * 10)
    sections += section.pack(0, 11, 0, 0, head, len(symbols), 2, 1, 8, 24)
    sections += section.pack(0, 3, 0, 0, head + len(symbols), len(texts), 0, 0, 1, 0)
    start = head + len(symbols) + len(texts)
    elf = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, start, 0, 64, 0, 0, 64, 3, 2)
    return elf + symbols + texts + sections


def kernel_cc(words):
    source = next(word for word in words if word.endswith(".cpp"))
    with open(os.environ.get("FAKE_LOG", os.devnull), "a") as log:
        log.write(" ".join(words) + "\n")
    text = read(source).decode()
    if "#error" in text:
        print(f"{source}:1:2: error: #error {text.split('#error ')[1].splitlines()[0]}")
        return 1
    time.sleep(float(os.environ.get("FAKE_SECONDS", "0")))
    if "FAKE_CHANGES" in os.environ:  # an editor, while the compiler runs
        write(os.environ["FAKE_CHANGES"], "#define ONE 5\n")
    names = os.environ.get("FAKE_NAMES", "build_graph kernel_entry").split()
    write(words[words.index("-o") + 1], make_object(names))
    headers = [line.split('"')[1] for line in text.splitlines() if line.startswith('#include "')]
    folders = [os.path.dirname(source)] + [word[2:] for word in words if word.startswith("-I")]
    found = []
    for header in headers:
        found += [os.path.join(f, header) for f in folders if os.path.isfile(f + "/" + header)][:1]
    write(words[words.index("-MF") + 1],
          f"x.o: {source} \\\n " + " \\\n ".join(found) + "\n")
    return 0


def values(words, option):
    return [words[i + 1] for i, word in enumerate(words) if word == option]


def rank(words, number, folder):
    data = f"{values(words, '--data-dir')[0]}/rank_{number}"
    loads = values(words, "--load") + [w.split(":")[0] for w in values(words, "--tensor")]
    saves = values(words, "--save") + [w.split(":")[0] for w in values(words, "--tensor")
                                       if w.endswith("out")]
    lines = [f"[rank {number}] line {i}" for i in range(6)]
    behaviour = os.environ.get("FAKE_RANKS", "")
    if behaviour == f"unwritten {number}":
        write(f"{data}/unwritten", "".join(f"{name}\n" for name in saves))
    for name in saves:
        found = read(f"{data}/{loads[0]}.bin")
        if behaviour == f"short {number}":
            found = found[:-1]
        if behaviour == f"nan {number}":
            found = struct.pack("<f", float("nan")) + found[4:]
        if behaviour != f"missing {number}":
            write(f"{data}/{name}.bin", found)
    lines.append(f"[rank {number}] Done" if behaviour != f"exit {number}" else "so it goes")
    write(f"{folder}/rank-{number}.log", "\n".join(lines) + "\n")


def run(words):
    place = words.index("--")
    own, ranks = words[:place], words[place + 1:]
    with open(os.environ.get("FAKE_LOG", os.devnull), "a") as log:
        log.write("run " + " ".join(words) + "\n")
        log.write("variables " + " ".join(f"{k}={v}" for k, v in sorted(os.environ.items())) + "\n")
    folder = values(own, "--output")[0]
    count = int(values(own, "-n")[0])
    behaviour = os.environ.get("FAKE_RANKS", "")
    if behaviour == "hang":
        write(os.environ["FAKE_PID"], str(os.getpid()))
        time.sleep(60)
    for number in range(count):
        rank(ranks, number, folder)
    for trace in values(own, "--trace"):
        write(trace, '{"traceEvents": []}')
    if behaviour == "timeout":
        print("tern run: ended after the timeout of 1 s", file=sys.stderr)
        return 124
    if behaviour.startswith("exit"):
        print(f"tern run: rank {behaviour.split()[1]} exited with status 6", file=sys.stderr)
        return 6
    return 0


if __name__ == "__main__":
    command = {"kernel-cc": kernel_cc, "run": run}[sys.argv[1]]
    sys.exit(command(sys.argv[2:]))
