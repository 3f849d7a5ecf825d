# SPDX-License-Identifier: Apache-2.0
"""Certificates: the proof that no plan of a kind on a topology takes less than some time, which
anybody can check (docs/planner.md)."""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import NamedTuple, Union

from . import _enums, _errors, _layouts
from ._library import lib
from .plan import kind_number
from .topo import Topology, as_handle


class Proof(NamedTuple):
    """What a certificate proves, without start-up. str() is a sentence."""

    kind: str
    root: int  # 0 for kinds without one
    scope: str  # "all_plans", "tree_plans", "rank_order_plans" or "prefix_plans": which plans it is for
    us_per_byte: float  # of the plan's bytes: the least time of the plans in its scope
    us_per_byte_all: float  # of all plans; less, if the scope is narrower
    text: str

    def __str__(self) -> str:
        return self.text


class Certificate:
    """A price for bytes on each link and resource. Certificate.make finds the best one, and
    Certificate.load reads one; check works out what it proves from the topology alone."""

    def __init__(self, handle: int) -> None:
        """Of the library's own handle, which then belongs to this object; programs use make or
        load."""
        self._handle = handle
        self._close = weakref.finalize(self, lib().tern_certificate_destroy, handle)

    @classmethod
    def make(cls, kind: str, topo: Union[Topology, str], *, root: int = 0,
             order: str = "any") -> "Certificate":
        """The best one; order "rank": for plans that sum in rank order. StateError without GLPK,
        LimitError for too many ranks, ArgumentError where links do not connect the ranks."""
        topo = as_handle(topo)
        request = _layouts.AlgoRequest(
            kind=kind_number(kind), topo=topo and topo._handle, bytes=1 << 20, unit=4, root=root,
            order=_enums.number("tern_order", order, "order"))
        handle = ctypes.c_void_p()
        _errors.check(lib().tern_certificate_make(ctypes.byref(request), ctypes.byref(handle)))
        return cls(handle.value)

    @classmethod
    def load(cls, path: Union[str, os.PathLike]) -> "Certificate":
        """Of a file; errors say line and column."""
        handle = ctypes.c_void_p()
        name = _errors.path_bytes("path", path)
        _errors.check(lib().tern_certificate_load(name, ctypes.byref(handle)))
        return cls(handle.value)

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the text; the file appears whole or not at all."""
        name = _errors.path_bytes("path", path)
        _errors.check(lib().tern_certificate_save(self._handle, name))

    def check(self, topo: Union[Topology, str]) -> Proof:
        """What it proves there. ArgumentError when it is for other ranks or links."""
        topo, raw = as_handle(topo), _layouts.CertificateProof()
        _errors.check(lib().tern_certificate_check(self._handle, topo._handle,
                                                   ctypes.byref(raw)))
        return Proof(lib().tern_plan_kind_name(raw.kind).decode(), raw.root,
                     _enums.word("tern_certificate_scope", raw.scope), raw.us_per_byte,
                     raw.us_per_byte_all, raw.text.decode())
