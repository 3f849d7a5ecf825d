# SPDX-License-Identifier: Apache-2.0
"""Compares what ranks have saved with what a golden expects.

An element matches when it equals the expected one, or when |got - expected| <= ATOL + RTOL
|expected| and both are finite. An expected NaN matches a NaN and nothing else, but not one that the
rank has put where no kernel wrote; an infinity matches itself. Floats are compared in float64, whole numbers without rounding. With both tolerances 0 only
equality counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, List, Optional, Tuple

from .dtypes import is_float, numbers, unwritten

if TYPE_CHECKING:
    import numpy


@dataclass(frozen=True)
class Compared:
    """The result for one output of one rank."""

    elements: int
    mismatches: int
    first: List[Tuple[int, str, str]]  # index, got, expected
    sample: List[str]  # the first 5 elements that were saved
    largest_error: Optional[float]  # of finite pairs; None without any
    reason: str = ""  # why nothing could be compared

    @property
    def passed(self) -> bool:
        return not self.reason and self.mismatches == 0


def failed(reason: str, elements: int) -> Compared:
    return Compared(elements, elements, [], [], None, reason)


def compare(got: "numpy.ndarray", expected: "numpy.ndarray", dtype: str, rtol: float, atol: float,
            most: int) -> Compared:
    """Compares two arrays as to_array makes them; keeps the first `most` mismatches."""
    import numpy

    if len(got) != len(expected):
        return failed(f"{len(got)} elements instead of {len(expected)}", len(expected))
    have, want = numbers(got, dtype), numbers(expected, dtype)
    with numpy.errstate(all="ignore"):
        if is_float(dtype):
            matches, errors = _match_floats(have, want, rtol, atol)
        else:
            matches, errors = _match_integers(have, want, rtol, atol)
    never = unwritten(got, dtype)
    matches &= ~never
    wrong = numpy.flatnonzero(~matches)
    first = [(int(i), text_of(have, dtype, int(i)) + " (no kernel wrote it)" * int(never[i]),
              text_of(want, dtype, int(i))) for i in wrong[:most]]
    sample = [text_of(have, dtype, i) for i in range(min(5, len(have)))]
    return Compared(len(have), len(wrong), first, sample,
                    float(errors.max()) if len(errors) else None)


def _match_floats(have: "numpy.ndarray", want: "numpy.ndarray", rtol: float,
                  atol: float) -> "tuple[numpy.ndarray, numpy.ndarray]":
    import numpy

    finite = numpy.isfinite(have) & numpy.isfinite(want)
    errors = numpy.abs(have - want)
    near = finite & (errors <= atol + rtol * numpy.abs(want))
    return (have == want) | near | (numpy.isnan(have) & numpy.isnan(want)), errors[finite]


def _match_integers(have: "numpy.ndarray", want: "numpy.ndarray", rtol: float,
                    atol: float) -> "tuple[numpy.ndarray, numpy.ndarray]":
    """Differences are taken modulo 2^64, where greater minus less is exact for every dtype."""
    import numpy

    wide_have, wide_want = (part.astype(numpy.int64 if part.dtype.kind == "i" else numpy.uint64)
                            .view(numpy.uint64) for part in (have, want))
    errors = numpy.where(have > want, wide_have - wide_want, wide_want - wide_have)
    allowed = numpy.floor(atol + rtol * numpy.abs(want.astype(numpy.float64)))
    huge = allowed >= 2.0**64
    whole = numpy.where(huge, 0.0, allowed).astype(numpy.uint64)
    return huge | (errors <= whole), errors


def text_of(values: "numpy.ndarray", dtype: str, index: int) -> str:
    """An element as its dtype prints it: 0.1, where float64 has 0.10000000149."""
    import numpy

    value = values[index]
    if dtype == "bfloat16":
        return f"{float(value):.4g}"
    return str(numpy.dtype(dtype).type(value))
