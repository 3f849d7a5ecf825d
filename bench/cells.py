# SPDX-License-Identifier: Apache-2.0
"""What the tables of the benchmarks are made of."""

import statistics


def number(value):
    return "" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def ratio(value):
    if value is None:
        return ""
    return f"**{value:.3g}**" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def spread(numbers):
    return f"{number(statistics.median(numbers))} ({number(min(numbers))}..{number(max(numbers))})"
