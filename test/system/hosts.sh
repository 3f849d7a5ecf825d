#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# tern run --hosts on hosts that share no memory and no processes (test/support/netlab): ranks join and
# meet, a death is told everywhere with the same words, cables are cut in each direction, a host and
# the head's host stand still; nothing is left on any host.
source "$(dirname "$0")/../support/shell.sh"
netlab=$build/bin/netlab
status=0
lab=$("$netlab" --for $$ up 3 2>said) || status=$?
if [ $status -eq 77 ]; then
    echo "skipped: $(<said)"
    exit 77
fi
[ $status -eq 0 ] || die "netlab: $(<said)"
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" "$root/test/system/hosts.c" -o rank \
    -L"$build/lib" -ltern -Wl,-rpath,"$build/lib" || die "hosts.c does not compile"

# job WORDS...: on the first host, its output in the files out and err, its exit status in `ended`
job() {
    rm -f ended go
    "$lab/rsh" tn0 "cd $dir; TERN_NET_TIMEOUT=2 timeout -s KILL 60 $tern run --hosts tn0:2,tn1,tn2:2 \
        --agent $lab/rsh --label --output ranks ./rank $* >out 2>err </dev/null
        echo \$? >status; mv status ended"
}

# ended STATUS TEXT: what is said, by `tern run` and (file out) by ranks
ended() {
    [ "$(<ended)" = "$1" ] || die "exit status $(<ended), not $1: $(cat err out)"
    grep -qF -- "$2" err || die "does not say '$2': $(cat err out)"
}

# nothing_left WHAT [HOST]: nothing that it has left is there some moments later
nothing_left() {
    local what=$1
    shift
    for _ in $(seq 100); do
        if "$lab/netlab" left "$@" >said; then
            return 0
        fi
        sleep 0.05
    done
    die "$what has left: $(<said)"
}

until_ready() {
    until_said '^5$' grep -cE '^\[[0-4]@tn[0-2]\] ready [0-4] of 5$' out
}

# Everybody meets, and a death is told with the same words.
touch go
"$lab/rsh" tn0 "cd $dir; touch go; $tern run --hosts tn0:2,tn1,tn2:2 --agent $lab/rsh --label ./rank" >out
[ "$(sort out | tr '\n' ' ')" = "[0@tn0] ready 0 of 5 [1@tn0] ready 1 of 5 [2@tn1] ready 2 of 5 \
[3@tn2] ready 3 of 5 [4@tn2] ready 4 of 5 " ] || die "the ranks say: $(<out)"
job die
ended 137 "tern run: rank 4 (on tn2) was killed by signal 9 (Killed)"
[ "$(grep -c 'failed barrier [12]: .*rank 4 .*was killed by signal 9 (Killed)' out)" -eq 4 ] ||
    die "not all ranks say who died: $(<out)"
nothing_left "a death"

# Cables. Every rank that waits, on both sides, says why it ends: also those that nobody hears, in their files. A
# host that hears nothing may be the first to know.
for direction in '' from to; do
    : >out
    job &
    until_ready
    # shellcheck disable=SC2086
    begin=$EPOCHREALTIME
    "$lab/netlab" cut tn2 $direction
    wait $!
    ended 137 "tern run: host tn2 (ranks 3-4)"
    nothing_left "a cut cable, $direction"
    # Which ranks hear of a machine, and which of a rank that has heard, depends on who is first.
    wanted='machine tn[02] (ranks* [0-9-]*) has been silent'
    [ "$direction" != to ] || wanted='barrier'
    after=
    for rank in 1 2 3 4; do
        grep -q "failed barrier 2: .*$wanted" ranks/rank-$rank.log ||
            die "cut $direction: rank $rank says: $(cat ranks/rank-$rank.log); out: $(cat out)"
        after+=" $((($(stat -c %.6Y ranks/rank-$rank.log | tr -d .) - ${begin/./}) / 1000))"
    done
    echo "a cable cut in ${direction:-both}: ranks 1 to 4 say so after$after ms"
    "$lab/netlab" mend tn2
done

# Hosts that stand still.
: >out
job &
until_ready
"$lab/netlab" stop tn1
wait $!
ended 137 "tern run: host tn1 (rank 2) has been silent for 2 s"
"$lab/netlab" go tn1
nothing_left "a host that stood still"
: >out
job &
until_ready
"$lab/netlab" stop tn0
nothing_left "a head that stands still" tn1
nothing_left "a head that stands still" tn2
"$lab/netlab" go tn0
wait $!
[ "$(<ended)" = 137 ] || die "the head stood still: exit status $(<ended): $(cat err)"
nothing_left "a head that stood still"

# What cannot be reached.
"$lab/rsh" tn0 "cd $dir; $tern run --hosts tn0,tn9 --agent $lab/rsh ./rank" >out 2>err || status=$?
grep -qF "cannot start host tn9 (rank 1): its agent ended with status 255: " err || die "tn9: $(<err)"
"$lab/rsh" tn0 "cd $dir; $tern run --hosts tn1 --head-address 10.77.0.99 --agent $lab/rsh ./rank" \
    >out 2>err && die "a head at a wrong address is reached"
grep -qE "cannot start host tn1 \(rank 0\): its agent ended with status 125: .*cannot connect to port [0-9]+ of 10.77.0.99" err ||
    die "wrong address: $(<err)"
nothing_left "what cannot be reached"
echo "ranks on three hosts start, meet, and end together"
