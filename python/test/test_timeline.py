# SPDX-License-Identifier: Apache-2.0
"""The timeline: what is read from a trace reaches the page; sizes; bad traces get a sentence.

Also runs by itself, without pytest: `python3 -m unittest test_timeline`.
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent))

import timeline_traces  # noqa: E402  (it lies beside this file)
from tern.timeline import TraceError, write_page  # noqa: E402


def numbers(column):
    """A column of the page as a list."""
    out, value, shift = [], 0, 0
    for byte in base64.b64decode(column):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            out.append(value)
            value, shift = 0, 0
    return out


def unfold(number):
    return number // 2 if number % 2 == 0 else -(number + 1) // 2


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    return json.loads(found[1])


def events_of(data):
    """(process, row, start, duration, name, category, arguments) of all events, sorted."""
    columns = [numbers(data["events"][key]) for key in ("start", "duration", "what", "args")]
    events, at = [], 0
    for process, row, *lengths in data["rows"]:
        for length in lengths:
            start = 0
            for _ in range(length):
                fold, duration, what, args = (column[at] for column in columns)
                start += unfold(fold)
                name, cat = data["whats"][what]
                place = (data["processes"][process]["name"], row)
                text = json.dumps(data["args"][args], sort_keys=True)
                events.append((*place, start, duration, name, cat, text))
                at += 1
    assert at == data["events"]["count"] == len(columns[0])
    return sorted(events)


def arrows_of(data):
    """(process, row, time) of both ends, from and to, and the name, sorted."""
    arrows = data["arrows"]
    columns = [numbers(arrows[key]) for key in ("toRow", "to", "fromRow", "back", "name")]
    found, last, time = [], -1, 0
    for to, fold, source, back, name in zip(*columns):
        time = (time if to == last else 0) + unfold(fold)
        last = to
        ends = []
        for row, moment in ((source, time - unfold(back)), (to, time)):
            process, row_name = data["rows"][row][:2]
            ends.append((data["processes"][process]["name"], row_name, moment))
        found.append((*ends, data["arrowNames"][name]))
    return sorted(found)


def expected(trace):
    """The same two lists, from the JSON."""
    names, begun, events, sources, arrows = {}, {}, [], {}, []
    for e in trace["traceEvents"]:
        place = (e["pid"], e.get("tid"))
        ns = round(e.get("ts", 0) * 1000)
        if e["ph"] == "M" and e["name"].endswith("_name"):
            names[place] = e["args"]["name"]
        elif e["ph"] == "X":
            events.append((place, ns, round(e["dur"] * 1000), e["name"], e["cat"], e["args"]))
        elif e["ph"] == "b":
            begun[e["id"]] = (place, ns, e["name"], e["cat"], e["args"])
        elif e["ph"] == "e":
            place, start, name, cat, args = begun[e["id"]]
            events.append((place, start, ns - start, name, cat, args))
        elif e["ph"] == "s":
            sources[e["id"]] = (place, ns)
        elif e["ph"] == "f":
            arrows.append((sources[e["id"]], (place, ns), e["name"]))

    def where(place):
        return (names[place[0], None], names[place])

    events = [(*where(e[0]), *e[1:5], json.dumps(e[5], sort_keys=True)) for e in events]
    arrows = [((*where(a[0]), a[1]), (*where(b[0]), b[1]), name) for a, b, name in arrows]
    return sorted(events), sorted(arrows)


class Timeline(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def page(self, trace, title=None):
        """The text of the page of a trace: an object, or the bytes of its file."""
        source, page = self.folder / "trace.json", self.folder / "page.html"
        data = trace if isinstance(trace, bytes) else json.dumps(trace).encode()
        source.write_bytes(data)
        write_page(str(source), str(page), title)
        return page.read_text(encoding="utf-8")

    def test_all_events_reach_the_page(self):
        for name in ("path", "one", "none"):
            trace = timeline_traces.TRACES[name]()
            data = data_of(self.page(trace))
            events, arrows = expected(trace)
            self.assertEqual(events_of(data), events, name)
            self.assertEqual(arrows_of(data), arrows, name)

    def test_counters_reach_the_page(self):
        data = data_of(self.page(timeline_traces.counters()))["counters"]
        self.assertEqual(data["list"], [[1, "link 0>1", 4], [1, "link 1>0", 1]])
        times, shares = numbers(data["time"]), numbers(data["share"])
        self.assertEqual([unfold(time) for time in times], [0, 2000, 5000, 2000, 0])
        self.assertEqual(shares, [0, 100_000, 25_000, 0, 20_002])

    def test_the_same_trace_makes_the_same_page(self):
        for name in ("path", "names"):
            trace = timeline_traces.TRACES[name]()
            self.assertEqual(self.page(trace, "t"), self.page(trace, "t"))

    def test_names_end_no_script(self):
        trace = timeline_traces.names()
        page = self.page(trace, title=timeline_traces.ODD_NAME)
        self.assertEqual(events_of(data_of(page)), expected(trace)[0])
        self.assertEqual(page.count("</script"), 2)
        self.assertNotIn("alert('1')</script>", page)
        self.assertIn("&lt;/script&gt;", page)

    def test_the_page_needs_nothing_else(self):
        page = self.page(timeline_traces.path())
        self.assertNotRegex(page, r"https?:|src=|@import|url\(|import\(|fetch\(")
        self.assertIn("default-src 'none'", page)
        self.assertNotIn("{{", page.split('id="data"')[0])
        self.assertNotIn("}}", page.split('id="data"')[0].split("<style>")[0])

    def test_size(self):
        trace = timeline_traces.large()
        first = self.page(trace, "t")
        self.assertGreaterEqual(data_of(first)["events"]["count"], 100_000)
        self.assertLess(len(first.encode()), 3_000_000)
        events, arrows = expected(trace)
        self.assertEqual(events_of(data_of(first)), events)
        self.assertEqual(arrows_of(data_of(first)), arrows)

    def test_order_of_ranks_and_rows(self):
        made = timeline_traces.Maker()
        made.rank(10, ["AIV 10", "AIV 9", "AIC 1", "zeta", "scheduler", "orchestrator", "host"])
        made.rank(2, ["host"])
        data = data_of(self.page(made.done()))
        self.assertEqual([p["name"] for p in data["processes"]], ["rank 2", "rank 10"])
        self.assertEqual(
            [row[1] for row in data["rows"][1:]],
            ["host", "orchestrator", "scheduler", "AIC 1", "AIV 9", "AIV 10", "zeta"],
        )

    def test_what_is_odd_is_told(self):
        made = timeline_traces.Maker()
        made.rank(0, ["host"], label="killed by signal 9")
        made.slice((0, 0), "last", 0, 5000)
        place = {"pid": 1, "tid": 1024, "cat": "wait", "ts": 1}
        made.events += [
            {"ph": "b", **place, "name": "open", "id": "pair x"},
            {"ph": "e", **place, "name": "none", "id": "pair y"},
            {"ph": "s", **place, "name": "half", "id": 9},
            {"ph": "C", **place, "name": "counter"},
            {"ph": "i", **place, "name": "17 events lost"},
        ]
        data = data_of(self.page(made.done()))
        self.assertEqual(data["processes"][0]["label"], "killed by signal 9")
        self.assertIn(("rank 0", "host", 1000, 4000, "open", "wait", "{}"), events_of(data))
        notes = "\n".join(data["notes"])
        for part in ("17 events lost", "1 events had not ended", "'C'", "half of an arrow", "e with"):
            self.assertIn(part, notes)

    def test_a_list_and_foreign_places(self):
        event = {"ph": "X", "pid": "a", "tid": "b", "name": "x", "ts": 0.0005, "dur": 1e-3}
        data = data_of(self.page([event, {**event, "pid": 3}]))
        self.assertEqual(len(events_of(data)), 2)

    def test_bad_traces_get_a_sentence(self):
        event = {"ph": "X", "pid": 1, "tid": 1, "name": "x", "ts": 1, "dur": 1}
        cases = [
            (b"", "is not JSON"),
            (b"\xff\xfe{", "is not JSON"),
            (b'{"traceEvents":[', "is not JSON"),
            (b"[" * 100_000, "is not JSON"),
            (b"12", "is JSON, but not a trace"),
            (b'{"events":[]}', "no list 'traceEvents'"),
            ([7], "event 1 is not an object"),
            ([{**event, "ts": "soon"}], "\"soon\" as 'ts', where a number belongs"),
            ([{**event, "ts": True}], "where a number belongs"),
            (json.dumps([{**event, "dur": 1}]).replace("1}", "1e999}").encode(), "'dur'"),
            ([{**event, "dur": -1}], "ends before it begins"),
            ([{**event, "ts": 1e300}], "beyond"),
            ([event, {**event, "ts": 10**400}], "event 2"),
            ([{key: event[key] for key in event if key != "dur"}], "has no 'dur'"),
            ([{key: event[key] for key in event if key != "pid"}], "has no 'pid'"),
            ([{**event, "pid": [1]}], "event 1 cannot be read"),
            ([{**event, "ph": "C", "args": {"percent": "all"}}], "\"all\" as 'percent'"),
            ([{**event, "ph": "b", "id": 1}, {**event, "ph": "e", "id": 1, "ts": 0}], "event 2 ends"),
        ]
        for trace, part in cases:
            with self.subTest(part=part), self.assertRaises(TraceError) as caught:
                self.page(trace)
            self.assertIn(part, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))

    def run_command(self, *words):
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        return subprocess.run(
            [sys.executable, "-m", "tern.timeline", *map(str, words)],
            env=environment, capture_output=True, text=True, check=False,
        )

    def test_command(self):
        trace, page = self.folder / "t.json", self.folder / "t.html"
        trace.write_text(json.dumps(timeline_traces.path()))
        done = self.run_command(trace, "-o", page)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertIn("<title>t.json</title>", page.read_text(encoding="utf-8"))
        done = self.run_command(trace, "-o", page, "--title", "two & two")
        self.assertIn("<title>two &amp; two</title>", page.read_text(encoding="utf-8"))
        before = page.read_bytes()
        for words, part in [
            ((self.folder / "none.json", "-o", page), "No such file"),
            ((page, "-o", page), "is not JSON"),
            ((trace, "-o", self.folder / "no/t.html"), "cannot write"),
            ((trace, "-o", self.folder), "cannot write"),
            ((trace, "-o", "/dev/full"), "No space left"),
        ]:
            done = self.run_command(*words)
            self.assertEqual(done.returncode, 1, words)
            self.assertIn(part, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(page.read_bytes(), before)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["t.html", "t.json"])
        self.assertEqual(self.run_command(trace).returncode, 2)


if __name__ == "__main__":
    unittest.main()
