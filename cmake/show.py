# SPDX-License-Identifier: Apache-2.0
"""show.py OUT OBJECT...: joins objects into one whose hidden symbols a shared library exports.

Tests call what libtern.so hides. A linker can hide a symbol but not show it, so this changes the
visibility in the joined object's table of symbols, and nothing else: tests run the code that is
shipped. 64-bit ELF, byte order of this machine.
"""

import os
import struct
import subprocess
import sys

SYMBOLS, LOCAL, HIDDEN, UNDEFINED = 2, 0, 2, 0  # SHT_SYMTAB, STB_LOCAL, STV_HIDDEN, SHN_UNDEF


def sections(data):
    """(kind, offset, size) of each section."""
    table, = struct.unpack_from("=Q", data, 0x28)
    size, count = struct.unpack_from("=HH", data, 0x3A)
    for at in range(table, table + size * count, size):
        yield struct.unpack_from("=I", data, at + 4) + struct.unpack_from("=QQ", data, at + 24)


def main():
    out, objects = sys.argv[1], sys.argv[2:]
    subprocess.run([os.environ.get("LD", "ld"), "-r", "-o", out, *objects], check=True)
    with open(out, "r+b") as file:
        data = bytearray(file.read())
        for kind, offset, size in sections(data):
            for at in range(offset, offset + size, 24) if kind == SYMBOLS else ():
                info, other, section = struct.unpack_from("=BBH", data, at + 4)
                if info >> 4 != LOCAL and other & 3 == HIDDEN and section != UNDEFINED:
                    data[at + 5] = other & ~3
        file.seek(0)
        file.write(data)


main()
