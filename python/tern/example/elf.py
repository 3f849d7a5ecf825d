# SPDX-License-Identifier: Apache-2.0
"""The names that a shared object defines, read from its table of dynamic symbols (ELF, 64 bits)."""

from __future__ import annotations

import struct
from typing import Set

_DYNSYM = 11
_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, ...
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size


def defined_names(data: bytes) -> Set[str]:
    """Empty for what is no such object."""
    names: Set[str] = set()
    if data[:6] != b"\x7fELF\x02\x01":
        return names
    try:
        offset, = struct.unpack_from("<Q", data, 0x28)
        size, count = struct.unpack_from("<HH", data, 0x3A)
        sections = [_SECTION.unpack_from(data, offset + i * size) for i in range(count)]
        for section in sections:
            if section[1] != _DYNSYM:
                continue
            texts = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], _SYMBOL.size):
                name, _, _, where, _, _ = _SYMBOL.unpack_from(data, at)
                if where != 0:
                    begin = texts + name
                    names.add(data[begin:data.index(b"\0", begin)].decode(errors="replace"))
    except (struct.error, IndexError, ValueError):
        pass
    return names
