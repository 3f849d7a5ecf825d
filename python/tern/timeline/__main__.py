# SPDX-License-Identifier: Apache-2.0
"""The command `python3 -m tern.timeline TRACE.json -o PAGE.html [--title T]`."""

from __future__ import annotations

import argparse
import sys

from . import TraceError, write_page


def main() -> int:
    """Exit status: 0, 1 for a trace or a page that could not be read or written, 2 for usage."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tern.timeline",
        description="Writes a page, one file, that shows what every rank did when.",
    )
    parser.add_argument("trace", metavar="TRACE.json", help="what 'tern run --trace FILE' wrote")
    parser.add_argument("-o", dest="page", metavar="PAGE.html", required=True, help="the page")
    parser.add_argument("--title", help="what stands above the timeline; default: the file's name")
    asked = parser.parse_args()
    try:
        write_page(asked.trace, asked.page, asked.title)
    except TraceError as error:
        print(f"tern.timeline: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
