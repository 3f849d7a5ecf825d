#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# tern info --job for a job on several machines that hangs: from the head, a branch and a rank; and a head
# whose ranks are elsewhere.
source "$(dirname "$0")/../support/shell.sh"
export TERN_TIMEOUT=60 TERN_AGREE=strict
at_exit() {
    touch "$dir/go" || true
    for pid in $(jobs -p); do
        kill "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" "$root/test/system/hang.c" -o hang \
    -L"$build/lib" -ltern -Wl,-rpath,"$build/lib"
# shellcheck disable=SC2016
agent="sh -c 'shift; exec \"\$@\"' agent"

"$tern" run --hosts a:1,b:3 --agent "$agent" ./hang </dev/null &
head=$!
until_said '^ +2 +b +[0-9]+  alive .* waits in reduce 23 .* for rank 3, for [0-9]' \
    "$tern" info --job "$head"
until_said '^ +3 +b +[0-9]+  alive +23  is not waiting in tern' "$tern" info --job "$head"
until_said '^machine b \(ranks 1-3\): as of 0\.[0-9]+ s ago' "$tern" info --job "$head"
grep -q '^job of 4 ranks on 2 machines$' said || die "the machines: $(cat said)"
grep -q '^machine a (rank 0): this one$' said || die "not seen from the first host: $(cat said)"
grep -qE '^ +0 +a +[0-9]+  alive ' said || die "rank 0: $(cat said)"
grep -qE '^ +3 +b +[0-9]+  alive +23  is not waiting in tern' said || die "rank 3: $(cat said)"
member=$(sed -nE 's/^ +3 +b +([0-9]+)  alive.*/\1/p' said)
until_said '^ +0 +a +[0-9]+  alive .* waits in reduce 23 .* for rank 3, for [0-9]' \
    "$tern" info --job "$member"
grep -q '^machine b (ranks 1-3): this one$' said || die "not seen from the second host: $(cat said)"
until_said "^ *$head +4 +[0-9]+ s  launcher  .*hang" "$tern" info --jobs
for branch in $(cat "/proc/$head/task/$head/children"); do
    ! grep -qE "^ *$branch " said || die "--jobs has the job once more, for a host of it: $(cat said)"
done
"$tern" info --job "$head" --json >job.json
python3 - <<'END' || die "the JSON: $(cat job.json)"
import json
job, = json.load(open("job.json"))["jobs"]
assert [m["machine"] for m in job["machines"]] == ["a", "b"]
assert [m["state"] for m in job["machines"]] == ["here", "heard"]
assert [r["machine"] for r in job["ranks"]] == ["a", "b", "b", "b"]
assert 0 < job["ranks"][2]["calls"][0]["began_ns_ago"] < 6e10
END
touch go
wait "$head" || die "the job failed once it could go on: $?"

# What is elsewhere.
"$tern" run --hosts b,user@c:2 --agent "sh -c 'sleep 60' agent" ./hang </dev/null >/dev/null 2>&1 &
head=$!
until_said "process $head is the head of a job .* on b, user@c$" "$tern" info --job "$head"
echo "jobs on several machines are seen from each of them"
