# SPDX-License-Identifier: Apache-2.0
"""Traces made by hand, for the tests of the timeline: what they are is said at each.

usage: timeline_traces.py FOLDER    writes NAME.json of all of them
"""

import json
import pathlib
import random
import sys

ODD_NAME = "</script><script>alert('1')</script> \"quoted\" & <b>\u00e9\u4e16\U0001f600\\"


class Maker:
    """Ranks, rows and events, in microseconds where the trace has them; here in ns."""

    def __init__(self):
        self.events = []
        self.ids = 0

    def rank(self, rank, rows, label=None):
        name = {"name": f"rank {rank}"}
        self.events.append({"ph": "M", "pid": rank + 1, "name": "process_name", "args": name})
        if label:
            self.events.append(
                {"ph": "M", "pid": rank + 1, "name": "process_labels", "args": {"labels": label}}
            )
        for tid, row in enumerate(rows):
            self.events.append(
                {
                    "ph": "M",
                    "pid": rank + 1,
                    "tid": (rank + 1) * 1024 + tid,
                    "name": "thread_name",
                    "args": {"name": row},
                }
            )

    @staticmethod
    def place(rank, row):
        return {"pid": rank + 1, "tid": (rank + 1) * 1024 + row}

    def slice(self, at, name, start, end, cat="task", **args):
        self.events.append(
            {
                "ph": "X",
                **self.place(*at),
                "cat": cat,
                "name": name,
                "ts": start / 1000,
                "dur": (end - start) / 1000,
                "args": args,
            }
        )

    def pair(self, at, name, start, end, cat="wait"):
        self.ids += 1
        both = {**self.place(*at), "cat": cat, "name": name, "id": f"pair {self.ids}"}
        self.events.append({"ph": "b", **both, "ts": start / 1000, "args": {"signal": 64}})
        self.events.append({"ph": "e", **both, "ts": end / 1000})

    def arrow(self, source, start, to, end, name="notify"):
        self.ids += 1
        both = {"cat": "arrow", "name": name, "id": self.ids}
        self.events.append({"ph": "s", **self.place(*source), "ts": start / 1000, **both})
        self.events.append({"ph": "f", "bp": "e", **self.place(*to), "ts": end / 1000, **both})

    def process(self, pid, name):
        self.events.append(
            {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
        )

    def counter(self, pid, name, *samples):
        """Samples are (ns, percent)."""
        for ns, percent in samples:
            self.events.append({"ph": "C", "pid": pid, "cat": "use", "name": name,
                                "ts": ns / 1000, "args": {"percent": percent}})

    def done(self):
        return {"displayTimeUnit": "ns", "traceEvents": self.events}


def path():
    """Two ranks. The critical path is A, B, C, n, D, m, E and the end of the barrier of rank 1:
    550 ns of tasks, 25 of notifies, 60 of barrier, 65 on the way, 10 of nothing; 3 times from rank
    to rank. Rank 0 came last to the barrier, so that what its host did before is on the path."""
    made = Maker()
    host, aic, aiv = 0, 1, 2
    for rank in (0, 1):
        made.rank(rank, ["host", "AIC 0", "AIV 0"])
    made.slice((0, aic), "A", 0, 100)
    made.slice((0, aic), "B", 100, 300)
    made.slice((0, aiv), "C", 320, 400)
    made.slice((0, aiv), "n", 380, 395, "notify", peer=1, signal=64)
    made.arrow((0, aic), 100, (0, aiv), 320, "after")
    made.slice((1, aiv), "p", 0, 40)
    made.slice((1, aiv), "P", 0, 350)
    made.slice((1, aiv), "D", 420, 600)
    made.slice((1, aiv), "m", 590, 600, "notify", peer=0, signal=0)
    made.arrow((0, aiv), 380, (1, aiv), 420)
    made.pair((1, aiv), "D", 30, 420)
    made.slice((0, aiv), "E", 620, 640)
    made.arrow((1, aiv), 590, (0, aiv), 620)
    made.slice((0, host), "meet", 650, 705, "barrier")
    made.slice((1, host), "meet", 50, 710, "barrier")
    made.arrow((0, host), 650, (1, host), 709)
    made.arrow((1, host), 50, (0, host), 704)
    return made.done()


def large(events=100_000, ranks=4):
    """Many events: tasks with transfers in them, waits beside them, arrows from rank to rank."""
    made = Maker()
    draw = random.Random(7)
    clocks = {}
    for rank in range(ranks):
        made.rank(rank, ["host", "scheduler", "AIC 0", "AIV 0"])
        clocks.update({(rank, row): 0 for row in (2, 3)})
    count = 0
    while count < events:
        for at, now in clocks.items():
            start = now + draw.randrange(1, 3000)
            end = start + draw.randrange(2000, 40000)
            made.slice(at, f"task {draw.randrange(24)}", start, end)
            inner = start + 10
            for _ in range(draw.randrange(8)):
                last = min(end - 10, inner + draw.randrange(50, 2000))
                if last <= inner:
                    break
                peer = draw.randrange(ranks)
                made.slice(at, "put", inner, last, "transfer", bytes=4096, peer=peer)
                inner = last + 5
                count += 1
            if draw.random() < 0.1:
                made.pair(at, "signal", now, start)
                other = ((at[0] + 1) % ranks, at[1])
                made.arrow(other, max(0, clocks[other] - 100), at, start)
                count += 1
            clocks[at] = end
            count += 1
    return made.done()


def names():
    """Names, labels and arguments that are no plain words."""
    made = Maker()
    made.rank(0, [ODD_NAME, "core \u4e16"], label=ODD_NAME)
    made.slice((0, 0), ODD_NAME, 10, 2000, ODD_NAME, text=ODD_NAME, many=[1, {"a": None}])
    made.slice((0, 0), "inside", 20, 30, bytes=0, peer=0)
    made.slice((0, 1), "constructor", 0, 5)
    made.slice((0, 1), "__proto__", 6, 9, "constructor")
    made.pair((0, 1), "", 3, 4000)
    return made.done()


def counters():
    """Of 10000 ns, link 0>1 is used 5000 whole and 2000 by a quarter: 55 %; link 1>0 for 20.002 %."""
    made = Maker()
    made.rank(0, ["lane 0"])
    made.slice((0, 0), "copy #0", 0, 10000, "transfer")
    made.process(2, "resources")
    made.counter(2, "link 1>0", (0, 20.002))
    made.counter(2, "link 0>1", (0, 0), (2000, 100), (7000, 25), (9000, 0))
    return made.done()


def one():
    made = Maker()
    made.rank(0, ["host"])
    made.slice((0, 0), "alone", 5, 6)
    return made.done()


def none():
    made = Maker()
    made.rank(0, [])
    made.rank(1, [])
    return made.done()


TRACES = {"path": path, "large": large, "names": names, "one": one, "none": none,
          "counters": counters}


def write(folder):
    for name, make in TRACES.items():
        pathlib.Path(folder, f"{name}.json").write_text(json.dumps(make()), encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1])
