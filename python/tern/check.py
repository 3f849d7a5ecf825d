# SPDX-License-Identifier: Apache-2.0
"""The proof of a plan: what was proved, and each finding with the ops it is about, as data and as a
sentence (include/tern/check.h)."""

from __future__ import annotations

import ctypes
from typing import Dict, List, NamedTuple, Optional, Tuple

from . import _enums, _errors, _layouts, _text
from ._library import lib
from .plan import Op, Plan
from .topo import Topology


class OpPlace(NamedTuple):
    """An op that a finding is about."""

    rank: int
    lane: int
    op: int  # its index in the lane
    line: int  # its line in str(plan), from 1
    text: str  # that line


class Finding(NamedTuple):
    """Something that is wrong with a plan."""

    rule: str  # "bounds", "link", "deadlock", "race", "reach", "result" or "in_place"
    kind: str  # which mistake, such as "starved" or "wrong_source": tern_check_cause in check.h
    sentence: str  # the counterexample: what happens, which ops, which bytes, which signal
    places: Tuple[OpPlace, ...]  # up to two

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


class CheckError(Exception):
    """A plan that is not right. `findings` has all of them; the other fields are those of the
    first: rule, kind, rank, lane, op and line (None when it is about no op), sentence. `check` is
    the whole Check, whose str() is the report of `tern check`."""

    def __init__(self, check: "Check") -> None:
        self.check = check
        self.findings = check.findings
        first = self.findings[0]
        Exception.__init__(self, str(first))
        self.rule, self.kind, self.sentence = first.rule, first.kind, first.sentence
        place: Optional[OpPlace] = first.places[0] if first.places else None
        self.rank = place.rank if place else None
        self.lane = place.lane if place else None
        self.op = place.op if place else None
        self.line = place.line if place else None

    def __str__(self) -> str:
        others = len(self.findings) - 1
        more = f" (and {others} more finding{'s' * (others > 1)})" if others else ""
        return f"{self.findings[0]}{more}"


CheckError.__module__ = "tern"


def _op_lines(text: str) -> Dict[Tuple[int, int], int]:
    """(rank, lane) -> the line of its head in the text of a plan."""
    heads = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and words[0] == "rank":
            heads[int(words[1]), int(words[3])] = number
    return heads


class Check:
    """What the checker found. True when everything that was asked for is proved; str() is the
    report of `tern check`."""

    def __init__(self, plan: Plan, topo: Optional[Topology] = None,
                 in_place: bool = False) -> None:
        handle = ctypes.c_void_p()
        call = lib().tern_check_plan_in_place if in_place else lib().tern_check_plan
        _errors.check(call(plan._handle, topo and topo._handle, ctypes.byref(handle)))
        try:
            self.plan = plan
            self.proved: bool = lib().tern_check_proved(handle)
            self.sum_order = _enums.word("tern_check_order", lib().tern_check_sum_order(handle))
            self.findings: Tuple[Finding, ...] = tuple(self._find(handle))
            rules = _enums.words("tern_check_rule")
            # How many findings a rule has; of a very wrong plan more than `findings` keeps.
            self.counts = {r: lib().tern_check_count(handle, i) for i, r in enumerate(rules)}
            # Rules that were asked for and that the findings of others left without a verdict.
            self.undecided = tuple(r for i, r in enumerate(rules)
                                   if not lib().tern_check_decided(handle, i)
                                   and (in_place or r != "in_place"))
            self._report = _text.printed(lambda file: lib().tern_check_print(handle, file))
        finally:
            lib().tern_check_destroy(handle)

    def _find(self, handle: ctypes.c_void_p) -> List[Finding]:
        found: List[Finding] = []
        heads: Dict[Tuple[int, int], int] = {}
        for number, rule in enumerate(_enums.words("tern_check_rule")):
            index = 0
            while True:
                sentence = lib().tern_check_finding(handle, number, index)
                if sentence is None:
                    break
                heads = heads or _op_lines(str(self.plan))
                detail = _layouts.CheckDetail()
                lib().tern_check_get_detail(handle, number, index, ctypes.byref(detail))
                places = tuple(self._place(heads, detail.ops[i]) for i in range(detail.ops_count))
                cause = _enums.word("tern_check_cause", detail.cause)
                found.append(Finding(rule, cause, sentence.decode(), places))
                index += 1
        return found

    def _place(self, heads: Dict[Tuple[int, int], int], raw: _layouts.CheckPlace) -> OpPlace:
        op: Op = self.plan.op(raw.rank, raw.lane, raw.index)
        line = heads[raw.rank, raw.lane] + 1 + raw.index
        return OpPlace(raw.rank, raw.lane, raw.index, line, str(op))

    def require(self) -> None:
        """Raises CheckError unless all is proved."""
        if not self.proved:
            raise CheckError(self)

    def __bool__(self) -> bool:
        return self.proved

    def __str__(self) -> str:
        return self._report

    def __repr__(self) -> str:
        verdict = "proved" if self.proved else f"refuted: {len(self.findings)} findings"
        return f"<tern.Check of {self.plan!r}: {verdict}>"
