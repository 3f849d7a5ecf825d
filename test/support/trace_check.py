#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a trace of tern and checks what every trace has to be, by the rules of the Chrome trace format
that Perfetto keeps: named processes from 1 and named threads, times on one clock, slices of a thread
properly nested, pairs of async events, arrows that begin and end inside slices of different processes,
the end later than the beginning. Counters, of simulated runs, have a process of their own behind the
ranks; they are percentages that begin at time 0.

usage: trace_check.py FILE RANKS [EXPRESSION...]

An expression must hold. In it: E all events, X slices, A async beginnings, arrows a list of pairs of
slices (from, to), calls the slices and pairs of calls, named(NAME) the slices and pairs of that name,
rank(EVENT) its rank, ns(US) nanoseconds, use(NAME) a list of (ns, percent) of that counter, counters their names."""
import json
import sys
from bisect import bisect_right
from collections import defaultdict


def fail(sentence):
    sys.exit(f"trace_check.py: {sys.argv[1]}: {sentence}")


def need(condition, sentence, event=None):
    if not condition:
        fail(sentence if event is None else f"{sentence}: {event}")


def ns(time):
    return round(time * 1000)


def rank(event):
    return event["pid"] - 1


def check_counters(events, ranks):
    """Counters by name: lists of (ns, percent)."""
    counters = defaultdict(list)
    for e in events:
        if e["ph"] == "C":
            need(e["pid"] == ranks + 1 and e["cat"] == "use", "a counter of no such process", e)
            need(0 <= e["args"]["percent"] <= 100, "more or less than there is", e)
            counters[e["name"]].append((ns(e["ts"]), e["args"]["percent"]))
    for name, samples in counters.items():
        need(samples[0][0] == 0, f"{name} begins at {samples[0][0]} ns")
        need(all(a[0] < b[0] and a[1] != b[1] for a, b in zip(samples, samples[1:])),
             f"samples that change nothing, or not in their order: {name} {samples[:40]}")
    return counters


def check_shape(events, ranks):
    behind = [e for e in events if e["ph"] == "M" and e["pid"] == ranks + 1]
    need(len(behind) in (0, 2), "more or less than the name of the counters", behind)
    events = [e for e in events if e["ph"] != "C" and e not in behind]
    for e in events:
        need(e["ph"] in "MXbesfi", "an unknown phase", e)
        need(isinstance(e["pid"], int) and 1 <= e["pid"] <= ranks, "a process that is no rank", e)
        need("name" in e, "no name", e)
        if e["ph"] != "M":
            need(e["ts"] >= 0 and isinstance(e["tid"], int) and "cat" in e, "no time, thread or cat", e)
        if e["ph"] == "X":
            need(ns(e["dur"]) >= 1 and isinstance(e["args"], dict), "no duration or args", e)
    processes = {e["pid"]: e["args"]["name"] for e in events
                 if e["ph"] == "M" and e["name"] == "process_name"}
    need(processes == {r + 1: f"rank {r}" for r in range(ranks)}, f"the processes are {processes}")
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in events
               if e["ph"] == "M" and e["name"] == "thread_name"}
    for e in events:
        need(e["ph"] == "M" or (e["pid"], e["tid"]) in threads, "a thread without a name", e)
    need(len({tid for _, tid in threads}) == len(threads), "two threads have the same number")


def check_nesting(slices):
    tracks = defaultdict(list)
    for e in slices:
        tracks[e["pid"], e["tid"]].append(e)
    for track in tracks.values():
        track.sort(key=lambda e: (ns(e["ts"]), -ns(e["dur"])))
        stack = []
        for at, e in enumerate(track):
            begin, end = ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])
            while stack and stack[-1][0] <= begin:
                stack.pop()
            need(not stack or end <= stack[-1][0], f"not nested in {stack[-1:]}", e)
            e["around"] = stack[-1][1] if stack else None
            stack.append((end, at))
    return tracks


def check_pairs(events):
    pairs = defaultdict(list)
    for e in events:
        if e["ph"] in "be":
            pairs[e["id"]].append(e)
    for pair in pairs.values():
        need([e["ph"] for e in pair] == ["b", "e"], "no pair", pair)
        first, last = pair
        need(first["pid"] == last["pid"] and first["name"] == last["name"] and
             first["cat"] == last["cat"] and first["ts"] <= last["ts"], "the two do not match", pair)


def find_slice(tracks, event):
    """The innermost slice that is open at the event's time."""
    track = tracks[event["pid"], event["tid"]]
    at = bisect_right(track, ns(event["ts"]), key=lambda e: ns(e["ts"])) - 1
    while at is not None and at >= 0:
        if ns(event["ts"]) < ns(track[at]["ts"]) + ns(track[at]["dur"]):
            return track[at]
        at = track[at]["around"]
    return fail(f"an arrow that no slice has: {event}")


def check_arrows(events, tracks):
    ends = defaultdict(list)
    for e in events:
        if e["ph"] in "sf":
            ends[e["id"]].append(e)
    arrows = []
    for pair in ends.values():
        need(sorted(e["ph"] for e in pair) == ["f", "s"], "no arrow", pair)
        first, last = sorted(pair, key=lambda e: e["ph"], reverse=True)
        inside = first["name"] == "after"  # from a task to one that it released
        need((first["pid"] == last["pid"]) == inside, "an arrow inside a rank, or out of it", pair)
        need(ns(first["ts"]) < ns(last["ts"]), "an arrow that ends before it begins", pair)
        need(first["cat"] == last["cat"] and first["name"] == last["name"] and last["bp"] == "e",
             "the ends do not match", pair)
        found = (find_slice(tracks, first), find_slice(tracks, last))
        if not inside:
            arrows.append(found)
    return arrows


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    E = trace["traceEvents"]
    X = [e for e in E if e["ph"] == "X"]
    A = [e for e in E if e["ph"] == "b"]
    ranks = int(sys.argv[2])
    counters = check_counters(E, ranks)
    check_shape(E, ranks)
    tracks = check_nesting(X)
    check_pairs(E)
    arrows = check_arrows(E, tracks)
    calls = [e for e in X + A if e["cat"] == "call"]
    known = {"E": E, "X": X, "A": A, "arrows": arrows, "calls": calls, "rank": rank,
             "use": counters.__getitem__, "ns": ns, "counters": sorted(counters),
             "named": lambda name: [e for e in X + A if e["name"] == name]}
    for expression in sys.argv[3:]:
        need(eval(expression, known),  # pylint: disable=eval-used
             f"not so: {expression}\n{len(X)} slices, {len(arrows)} arrows, names: "
             f"{sorted({e['name'] for e in X + A})[:40]}")


main()
