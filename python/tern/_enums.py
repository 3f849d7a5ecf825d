# SPDX-License-Identifier: Apache-2.0
"""Enumerations of the headers as words of Python: the index of a word is its number. A test reads
them in the headers."""

from __future__ import annotations

from typing import Sequence

from ._errors import argument_error

# In C -> header, prefix of the names there, the words by number.
WORDS = {
    "tern_plan_buffer": ("plan.h", "TERN_PLAN_", ("in", "out", "scratch")),
    "tern_plan_op_kind": ("plan.h", "TERN_PLAN_", ("copy", "reduce", "post", "wait")),
    "tern_order": ("algo.h", "TERN_ORDER_", ("rank", "any")),
    "tern_certificate_scope": (
        "certificate.h", "TERN_CERTIFICATE_", ("all_plans", "tree_plans", "rank_order_plans",
                                              "prefix_plans")),
    "tern_check_rule": (
        "check.h", "TERN_CHECK_", ("bounds", "link", "deadlock", "race", "reach", "result",
                                   "in_place")),
    "tern_check_cause": (
        "check.h", "TERN_CHECK_",
        ("outside", "not_units", "overlap", "no_link", "starved", "cycle", "conflict", "unawaited",
         "remote", "undelivered", "unwritten", "wrong_sum", "missing", "misplaced", "wrong_source", "not_copied", "not_met",
         "overwritten")),
    "tern_check_order": ("check.h", "TERN_CHECK_ORDER_", ("none", "rank", "fixed", "any", "chain")),
    "tern_cmp": ("signal.h", "TERN_CMP_", ("eq", "ne", "gt", "ge", "lt", "le")),
    "tern_core": ("graph.h", "TERN_CORE_", ("aic", "aiv", "mix", "none")),
    "tern_access": (
        "submit.h", "TERN_", ("in", "out", "inout", "out_existing", "no_dep", "scalar")),
    "tern_region_dtype": (
        "region.h", "TERN_REGION_",
        ("f32", "f16", "i32", "i16", "i8", "u8", "bf16", "i64", "u64", "u16", "u32")),
}


def words(enum: str) -> Sequence[str]:
    """The words of an enumeration."""
    return WORDS[enum][2]


def number(enum: str, word: str, what: str) -> int:
    """The number of a word; ArgumentError lists the words. `what` is the argument's name."""
    try:
        return words(enum).index(word)
    except ValueError:
        raise argument_error(f"{what}: '{word}' is none of {', '.join(words(enum))}") from None


def word(enum: str, value: int) -> str:
    """The word of a number that the library gave."""
    return words(enum)[value]
