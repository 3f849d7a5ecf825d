#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# tern info: about this machine; which algorithms are selected, and that TERN_ALGO and a tune file change
# it; about a job that hangs, through the launcher and through a rank, and after a rank has died; what
# is refused, and how.
source "$(dirname "$0")/../support/shell.sh"
at_exit() {
    touch "$dir/go" "$dir/died/go" 2>/dev/null || true
    for pid in $(jobs -p); do
        kill -CONT "$pid" 2>/dev/null || true
        kill -9 "$pid" 2>/dev/null || true
        wait "$pid" 2>/dev/null || true
    done
}
export TERN_TUNE='' TERN_TIMEOUT=60
unset TERN_ALGO

# holds FILE EXPRESSION: a Python expression over jobs, ranks (of the first job)
holds() {
    python3 - "$1" "$2" <<'END' || die "does not hold of $1: $2: $(head -c 2000 "$1")"
import json, sys
jobs = json.load(open(sys.argv[1]))["jobs"]
ranks = jobs[0]["ranks"]
sys.exit(0 if eval(sys.argv[2]) else 1)
END
}

# The machine.
expect 0 "tune file   none" "$tern" info
grep -qE '^vectors     (avx512|avx2|portable)$' said || die "no vectors: $(cat said)"
grep -qE '^processors  [0-9]+, ' said || die "no processors: $(cat said)"
expect 0 "TERN_ALGO   ring" env TERN_ALGO=ring "$tern" info

# What is selected. Ranges join up: each begins one byte (or element of a share) after the last.
expect 0 "fused" "$tern" info --algos -p 4
for kind in all_reduce reduce_scatter all_gather broadcast all_to_all barrier reduce gather scatter; do
    grep -q "^$kind, 4 ranks" said || die "no $kind: $(cat said)"
done
expect 0 "built in" "$tern" info --algos -p 3 --kind all_reduce
grep -qE '^ +1  48 +any +one_shot +line ' said || die "48 bytes are not in the line: $(cat said)"
grep -qE '  \.\.\. +windows +fused +window ' said || die "large ones in windows: $(cat said)"
grep -qE '  \.\.\. +others +staged +staged/direct ' said || die "other large ones: $(cat said)"
TERN_DIRECT=5000 expect 0 "shares of at least 5000 bytes in ordinary memory (TERN_DIRECT)" \
    "$tern" info --algos -p 2 --kind broadcast
expect 0 "whichever has been faster, at first direct" "$tern" info --algos -p 2 --kind broadcast
grep -qE ' others +direct +staged/direct ' said || die "nothing is learned: $(cat said)"
printf 'tern-tune 1\nbroadcast ranks 2 small direct 9 window fused staged direct 4096 direct 70 900\n' >row
TERN_TUNE=row expect 0 "shares of at least 70 and at most 900 bytes in ordinary memory" \
    "$tern" info --algos -p 2 --kind broadcast
expect 0 "TERN_ALGO=all_reduce:two_shot" env TERN_ALGO=all_reduce:two_shot \
    "$tern" info --algos -p 3 --kind all_reduce
if grep -E '  (line|slot) ' said; then
    die "two_shot writes to other ranks, so it cannot run in slots"
fi
printf 'tern-tune 1\nall_reduce ranks 3 small one_shot 1000 window two_shot staged staged 2048\n' >tune
TERN_TUNE=$dir/tune expect 0 "line 2 of $dir/tune" "$tern" info --algos -p 3 --kind all_reduce
grep -qE '^ +49  1000 +any +one_shot +slot ' said || die "1000 bytes are small: $(cat said)"
grep -qE '^ +1001  \.\.\. +windows +two_shot ' said || die "two_shot: $(cat said)"
TERN_TUNE=$dir/tune expect 0 "built in" "$tern" info --algos -p 2 --kind all_reduce
TERN_TUNE=$dir/tune expect 0 "tune file   $dir/tune" "$tern" info
echo 'all_reduce ranks three' >>tune
TERN_TUNE=$dir/tune expect 1 "$dir/tune:3:18: expected a number of ranks" "$tern" info --algos -p 2
expect 0 "has no algorithms" "$tern" info --algos --kind send
expect 0 "has the algorithms of gather" "$tern" info --algos --kind gather_v
expect 1 "TERN_ALGO: no kind of collective has an algorithm 'best'" \
    env TERN_ALGO=best "$tern" info --algos

# Wrong usage.
expect 2 "-p takes a number of ranks from 1 to 64, not '65'" "$tern" info --algos -p 65
expect 2 "is no kind of collective call" "$tern" info --algos --kind all_redduce
expect 2 "--kind belongs to --algos" "$tern" info --kind barrier
expect 2 "--json belongs to --job" "$tern" info --json
expect 2 "one of --algos, --jobs, --job and --words, not several" "$tern" info --algos --job 1
expect 2 "not several" "$tern" info --jobs --job 1
expect 2 "--job takes the number of a process, not '0'" "$tern" info --job 0
expect 2 "--last takes a number from 0 to 64, not '65'" "$tern" info --job 1 --last 65
expect 2 "what is 'me'?" "$tern" info me

# A job that hangs in a call with a root, for which all ranks wait.
export TERN_AGREE=strict
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" "$root/test/system/hang.c" -o hang \
    -L"$build/lib" -ltern -Wl,-rpath,"$build/lib"
"$tern" run -n 4 ./hang &
launcher=$!
until_said '^ +1 .* waits in reduce 23 of 1200 bytes to rank 1 .* for rank 3, for [0-9]' \
    "$tern" info --job "$launcher"
waiting='^ +(0|2) +[0-9]+  alive .* waits in reduce 23 '
[ "$(grep -cE "$waiting" said)" -eq 2 ] || until_said "$waiting" "$tern" info --job "$launcher"
grep -qE '^ +3 +[0-9]+  alive +23  is not waiting in tern' said || die "rank 3: $(cat said)"
grep -qE '^ +23 +0  all_gather|^ +22 +0  all_gather' said || die "no all_gather: $(cat said)"
grep -qE '^ +1 +1  barrier +- ' said || die "no barrier of communicator 1: $(cat said)"
[ "$(grep -c '^rank [0-3], last calls' said)" -eq 4 ] || die "not four ranks: $(cat said)"
expect 0 "job of 4 ranks" "$tern" info --job "$launcher" --last 0
expect 0 "process  ranks" "$tern" info --jobs
grep -qE "^ *$launcher +4 +[0-9]+ s  launcher  .*hang" said || die "--jobs lacks the job: $(cat said)"
"$tern" perf all_reduce -p 2 --sizes 8M -n 100000 >/dev/null 2>&1 &
perf=$!
until_said "^ *$perf +2 .* launcher  [^ ]*tern perf all_reduce -p 2" "$tern" info --jobs
kill "$perf"
if grep -q 'last calls' said; then
    die "--last 0 lists calls"
fi
# Rank 0 may have gone to sleep before rank 2 came; it looks again while it sleeps.
until_said '^ +0 .* waits in reduce 23 .* for rank 3, for [0-9]' "$tern" info --job "$launcher"
"$tern" info --job "$launcher" --json --last 64 >hang.json
holds hang.json 'len(jobs) == 1 and len(ranks) == 4 and jobs[0]["failed"] == []'
holds hang.json '[len(r["calls"]) for r in ranks] == [24, 24, 24, 23]'
holds hang.json 'all(r["state"] == "alive" for r in ranks)'
holds hang.json 'all(r["calls"][0]["state"] == "waiting" for r in ranks[:3])'
holds hang.json 'ranks[0]["calls"][0]["waits_for_rank"] == 3'
holds hang.json 'ranks[0]["calls"][0]["root"] == 1 and ranks[0]["calls"][0]["op"] == "max"'
holds hang.json '0 < ranks[0]["calls"][0]["began_ns_ago"] < 6e10'
holds hang.json 'ranks[3]["calls"][0]["kind"] == "barrier" and ranks[3]["calls"][0]["communicator"] == 1'
holds hang.json 'ranks[3]["calls"][1]["bytes"] == 1200000'
holds hang.json '[c["bytes"] for c in ranks[2]["calls"][4:]] == [4 * k for k in range(20, 0, -1)]'
holds hang.json 'all(c["state"] == "done" for c in ranks[3]["calls"])'

# Through a rank, and one that is stopped.
member=$(python3 -c 'import json; print(json.load(open("hang.json"))["jobs"][0]["ranks"][2]["process"])')
kill -STOP "$member"
until_said "^ +2 +$member  stopped " "$tern" info --job "$member"
kill -CONT "$member"
until_said "^ +2 +$member  alive .*waits in reduce" "$tern" info --job "$member"

# Another user, where this one may become nobody.
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups "$tern" --version >/dev/null 2>&1; then
    expect 1 "belongs to user 0; only that user and root can look at it" \
        setpriv --reuid 65534 --clear-groups "$tern" info --job "$member"
fi

touch go
wait "$launcher" || die "the job failed once it could go on: $?"
expect 1 "there is no process $launcher" "$tern" info --job "$launcher"

# Ranks of their own, one of which dies: the others stay to be looked at.
mkdir died
cd died
for rank in 0 1 2; do
    ../hang $rank 3 "$dir/died/meet" 2>rank$rank.err &
    pids[rank]=$!
done
until_said 'rank 2, for [0-9]' "$tern" info --job "${pids[0]}"
{ kill -9 "${pids[1]}" && wait "${pids[1]}"; } 2>/dev/null || true
until_said '^communicator 0 has failed: .*rank 1' "$tern" info --job "${pids[2]}"
grep -qE "^ +1 +${pids[1]}  dead .* died \(process ${pids[1]} is gone\)" said ||
    die "rank 1 is not dead: $(cat said)"
until_said '^ +23 +0  reduce .* failed .*: a rank died' "$tern" info --job "${pids[0]}"
"$tern" info --job "${pids[0]}" --json >died.json
holds died.json 'jobs[0]["failed"][0]["status"] == "TERN_ERR_PEER" and ranks[1]["state"] == "dead"'
holds died.json 'ranks[0]["calls"][0]["status"] == "TERN_ERR_PEER"'
touch go
for rank in 0 2; do
    status=0
    wait "${pids[rank]}" || status=$?
    [ $status -eq 3 ] || die "rank $rank ended with $status, not with its error: $(cat rank$rank.err)"
done
cd ..

# What is no job.
expect 1 "process $$ is in no job of tern" "$tern" info --job $$
expect 1 "there is no process 2147483647" "$tern" info --job 2147483647
python3 - <<'END' &
import os, struct, time
good, other = os.memfd_create("tern-control"), os.memfd_create("tern-control")
os.write(good, struct.pack("<III", 1, 2, 3))
os.write(other, struct.pack("<III", 0x6e726574, 1, 2))
os.close(other) if os.environ.get("ONE") else None
time.sleep(60)
END
pretender=$!
until_said 'runs another build of tern: its control memory has version 1' \
    "$tern" info --job "$pretender"
ONE=1 python3 -c 'import os, time
os.write(os.memfd_create("tern-control"), b"something else entirely")
time.sleep(60)' &
pretender=$!
until_said "process $pretender is in no job of tern" "$tern" info --job "$pretender"
echo "tern info says what is selected and what hangs"
