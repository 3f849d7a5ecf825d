# SPDX-License-Identifier: Apache-2.0
"""Topologies: ranks, and the links between them, for which plans are made and proved."""

from __future__ import annotations

import ctypes
import weakref
from typing import List, NamedTuple, Optional, Tuple, Union

from . import _errors, _layouts
from ._library import lib


class Link(NamedTuple):
    """A directed link."""

    bandwidth_GBps: float  # 10^9 bytes a second
    latency_us: float  # of a message without bytes


class Resource(NamedTuple):
    """What several links share."""

    name: str
    bandwidth_GBps: float


class Topology:
    """Ranks and links, from a word as `tern plan --topo` takes it.

        Topology("mesh:8", cut=["0-1"], slow=["2-3=0.5"])

    mesh:N, ring:N, torus:AxB, cube:D, switch:N, hosts:HxN, hosts:HxN@GBps, machines:HxN, random:N,SEED, this, a
    preset (`presets`), or a file that ends in .json; "0-1" means both directions, "0>1" one. It never changes. ArgumentError says what is wrong with a word.
    """

    def __init__(self, word: str, cut: Union[str, List[str]] = (),
                 slow: Union[str, List[str]] = ()) -> None:
        self._made_of = (word, cut, slow)
        handle = ctypes.c_void_p()
        made_of = _errors.name_bytes("a topology", word)
        _errors.check(lib().tern_topo_create(made_of, ctypes.byref(handle)))
        self._handle = handle.value
        self._close = weakref.finalize(self, lib().tern_topo_destroy, self._handle)
        for links in [cut] if isinstance(cut, str) else cut:
            word = _errors.name_bytes("cut", links)
            _errors.check(lib().tern_topo_cut(self._handle, word))
        for links in [slow] if isinstance(slow, str) else slow:
            word = _errors.name_bytes("slow", links)
            _errors.check(lib().tern_topo_slow(self._handle, word))

    @staticmethod
    def presets() -> List[str]:
        """"name: what it is" of each preset."""
        found = []
        while True:
            text = lib().tern_topo_preset(len(found))
            if text is None:
                return found
            found.append(text.decode())

    @property
    def size(self) -> int:
        """The number of ranks."""
        return lib().tern_topo_size(self._handle)

    @property
    def link_count(self) -> int:
        """The number of directed links between different ranks."""
        return lib().tern_topo_link_count(self._handle)

    def link(self, source: int, destination: int) -> Optional[Link]:
        """The link from one rank to another; None when it is cut or never was."""
        link = _layouts.Link()
        there = lib().tern_topo_link(self._handle, source, destination, ctypes.byref(link))
        return Link(link.bandwidth_GBps, link.latency_us) if there else None

    @property
    def resources(self) -> Tuple[Resource, ...]:
        """What links share, by number."""
        found, raw = [], _layouts.Resource()
        for index in range(lib().tern_topo_resource_count(self._handle)):
            lib().tern_topo_get_resource(self._handle, index, ctypes.byref(raw))
            found.append(Resource(raw.name.decode(), raw.GBps))
        return tuple(found)

    def uses(self, source: int, destination: int) -> Tuple[int, ...]:
        """The numbers of the resources that bytes from one rank to another use."""
        raw = (ctypes.c_int * 4)()
        count = lib().tern_topo_uses(self._handle, source, destination, raw)
        return tuple(raw[:count])

    @property
    def machines(self) -> Tuple[Tuple[int, ...], ...]:
        """The ranks of each machine; empty when the topology says nothing of machines."""
        ranks: List[List[int]] = [[] for _ in range(lib().tern_topo_machine_count(self._handle))]
        for rank in range(self.size if ranks else 0):
            ranks[lib().tern_topo_machine_of(self._handle, rank)].append(rank)
        return tuple(tuple(of) for of in ranks)

    def __reduce__(self):
        return Topology, self._made_of

    def __str__(self) -> str:
        """The word with its cuts and slowed links, as a command line takes it."""
        return lib().tern_topo_text(self._handle).decode()

    def __repr__(self) -> str:
        return f"<tern.Topology {self}>"


def as_handle(topo: Union[Topology, str]) -> Topology:
    """A topology where a word may stand for one."""
    return topo if isinstance(topo, Topology) else Topology(topo)
