#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# tern run --hosts --trace: one file on one clock from machines whose clocks are far apart, as exact as
# it says; ranks that are killed, hosts that are lost or silent, an interrupted job: what there is is
# written, what lacks is said, and nothing is left.
source "$(dirname "$0")/../support/shell.sh"
holds() {
    python3 "$root/test/support/trace_check.py" "$@"
}
export TERN_TIMEOUT=60
cc -O1 -D_GNU_SOURCE -I"$root/include" "$root/test/system/trace_odd.c" -o odd -L"$build/lib" -ltern \
    -Wl,-rpath,"$build/lib"
cc -O1 -D_GNU_SOURCE -fPIC -shared "$root/test/system/skew.c" -o skew.so -ldl
# Host b has been up for longer; its clock is faster.
cat >agent <<'END'
#!/bin/sh
host=$1
shift
echo $$ >"pid.$host"
[ "$host" != b ] || exec env LD_PRELOAD="${0%/*}/skew.so" SKEW_S=1000 SKEW_PPM=200 "$@"
exec "$@"
END
chmod +x agent
hosts=("$tern" run --hosts a:1,b:2 --agent "$dir/agent")
job=("${hosts[@]}" --trace t.json)

# in_order FILE CLOCK: no rank goes out of a call of all before another has gone in, but for the errors of clocks
in_order() {
    python3 - "$@" <<'END' || die "$1 is not on one clock: $(head -c 700 "$1")"
import json, sys
trace = json.load(open(sys.argv[1]))
error, apart = {}, {}
for machine in trace["otherData"]["machines"]:
    for rank in machine["ranks"]:
        error[rank] = max(int(p["error_ns"]) for p in machine["clock"]) / 1e3
        apart[rank] = [int(p["offset_ns"]) / 1e9 for p in machine["clock"]]
assert trace["otherData"]["clock_of"] == sys.argv[2]
assert all(abs(a) < 1 for a in apart[0]) and all(a < -999 for a in apart[1]), apart
calls = {}
for e in trace["traceEvents"]:
    if e["ph"] == "X" and e["cat"] == "call":
        calls.setdefault(e["name"], []).append((e["pid"] - 1, e["ts"], e["ts"] + e["dur"]))
calls = {name: call for name, call in calls.items() if len(call) == 3}  # others have failed
assert len(calls) >= 5, calls
for name, call in calls.items():
    for r, begin, _ in call:
        for s, _, end in call:
            assert begin < end + error[r] + error[s], (name, call, error)
END
}

five="[rank(e) for e in named('all_reduce #5')] == [0, 1, 2]"
expect 0 "tern run: the clock of host b is " "${job[@]}" ./odd begin
grep -qE 'the clock of host a is 0\.[0-9]+ s (ahead of|behind) the head.s, to 0\.[0-9]+ s' said ||
    die "the clock of a: $(cat said)"
if grep -q lacks said; then
    die "a whole trace lacks something: $(cat said)"
fi
in_order t.json 'the head'
holds t.json 3 "[rank(e) for e in named('all_reduce #6')] == [0, 1, 2]" \
    "[e['args']['labels'] for e in E if e['name'] == 'process_labels'] == ['on a', 'on b', 'on b']" \
    "any((rank(a) == 0) != (rank(b) == 0) for a, b in arrows)" \
    "max(e['ts'] for e in X) - min(e['ts'] for e in X) < 200e6"

# What a program records itself.
expect 0 "" "${hosts[@]}" ./odd own
in_order own.json 'rank 0'
holds own.json 3 "[rank(e) for e in named('all_reduce #5')] == [0, 1, 2]"

# Chips: tasks with arrows from those who notified, also between machines; a record of each rank.
TERN_GRAPH_RECORD=record expect 0 "verified" "${job[@]}" "$build/bin/tp_ffn" --tokens 48 --hidden 48 \
    --intermediate 96 --rounds 2
holds t.json 3 "{e['cat'] for e in X} >= {'task', 'notify', 'barrier'}" \
    "any((rank(a) == 0) != (rank(b) == 0) for a, b in arrows if b['cat'] == 'task')"
for rank in 0 1 2; do
    python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["tasks"]' "record-rank$rank.json"
done

# More than connections hold at once, and than a track does.
expect 0 "" "${job[@]}" ./odd some
holds t.json 3 "len(named('notify')) == 30000"
expect 0 ": it holds 131072 of a thread" "${hosts[@]}" --trace /dev/null ./odd much

# Ranks that end badly.
expect 137 "rank 1 (on b) was killed by signal 9" "${job[@]}" ./odd kill
in_order t.json 'the head'
holds t.json 3 "$five" "[e['args']['labels'] for e in E if e['name'] == 'process_labels' and \
rank(e) == 1] == ['on b, killed by signal 9']"
expect 1 "rank 1 (on b) ended without" "${job[@]}" ./odd exit
holds t.json 3 "$five"

# stay WHAT...: a job whose ranks stay, until WHAT; its exit status in `ended`
stay() {
    rm -f t.json out
    touch out
    "${job[@]}" --label "$dir/odd" stay >out 2>err </dev/null &
    head=$!
    until_said '^3$' grep -c stays out
    "$@"
    ended=0
    wait "$head" || ended=$?
}
none_left() {
    for _ in $(seq 100); do
        pgrep -f "$dir/odd" >left || return 0
        sleep 0.05
    done
    die "$1 has left processes: $(<left)"
}

interrupt() {
    kill -TERM "$head"
}
stay interrupt
[ $ended -eq 143 ] || die "an interrupted job ended with $ended: $(<err)"
in_order t.json 'the head'
none_left "an interrupted job"

lose() {
    kill -9 "$(<pid.b)"
}
stay lose
[ $ended -eq 137 ] || die "a host was lost, and the job ended with $ended: $(<err)"
grep -q 'the trace lacks all of host b (ranks 1-2), which has not handed it over' err || die "lost: $(<err)"
holds t.json 3 "[rank(e) for e in named('all_reduce #5')] == [0]"
none_left "a lost host"

hush() {
    kill -STOP "$(<pid.b)"
}
TERN_NET_TIMEOUT=2 stay hush
[ $ended -eq 137 ] || die "a host was silent, and the job ended with $ended: $(<err)"
grep -q 'host b (ranks 1-2) has been silent for 2 s' err || die "silent: $(<err)"
grep -q 'the trace lacks all of host b (ranks 1-2), which has not handed it over' err || die "silent: $(<err)"
holds t.json 3 "[rank(e) for e in named('all_reduce #5')] == [0]"
none_left "a silent host"

# No ranks, no place, no room.
expect 0 "no rank has called tern_init" "${job[@]}" true
holds t.json 3 "not X"
expect 125 "cannot write none/t.json" "${hosts[@]}" --trace none/t.json true
expect 1 "No space left on device" "${hosts[@]}" --trace /dev/full ./odd begin
expect 125 "the trace lacks all of host c (rank 1), which was not there" \
    "$tern" run --hosts a,c --agent "sh -c 'exit 3'" --trace t.json ./odd begin
echo "one trace of several machines"
