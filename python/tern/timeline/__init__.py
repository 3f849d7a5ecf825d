# SPDX-License-Identifier: Apache-2.0
"""A page that shows what every rank did when, made from a trace of `tern run --trace FILE`.

    from tern.timeline import write_page
    write_page("trace.json", "page.html", title="two chips")

or `python3 -m tern.timeline trace.json -o page.html`. The page is one file that needs nothing else;
docs/timeline.md says how to read it. Needs the standard library alone.
"""

from .reader import TraceError
from .writer import write_page

__all__ = ["TraceError", "write_page"]
