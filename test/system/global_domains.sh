#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 200
# Global domains of the comm_* face between hosts that share no memory and no processes
# (test/support/netlab), by processes that nothing has started together: all meet, one dies, cables are
# cut, also before anybody has imported, a host stands still. All others say why, within the limits of
# docs/machines.md, and nothing is left on any host.
source "$(dirname "$0")/../support/shell.sh"
netlab=$build/bin/netlab
status=0
lab=$("$netlab" --for $$ up 3 2>said) || status=$?
if [ $status -eq 77 ]; then
    echo "skipped: $(<said)"
    exit 77
fi
[ $status -eq 0 ] || die "netlab: $(<said)"
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" -I"$root/include/faces" \
    "$root/test/system/global_domains.c" -o domain_rank -L"$build/lib" -ltern \
    -Wl,-rpath,"$build/lib" || die "global_domains.c does not compile"
silence=2

# begin HOSTS ROUNDS [RANK]: a rank on each, in a fresh folder; RANK only prepares
begin() {
    local hosts=($1) rank=0 host
    rm -rf run && mkdir run
    pids=()
    for host in "${hosts[@]}"; do
        "$lab/rsh" "$host" "cd $dir/run; TERN_NET_TIMEOUT=$silence TERN_TIMEOUT=30 exec timeout -s KILL 100 \
            ../domain_rank $rank ${#hosts[@]} $2 $([ "${3:-}" != $rank ] || echo prepares) >out.$rank 2>&1" \
            </dev/null &
        pids+=($!)
        rank=$((rank + 1))
    done
}

# ready HOSTS: all have been through a round
ready() {
    local count
    count=$(wc -w <<<"$1")
    until_said "^$count\$" eval 'cat run/out.* | grep -c "^ready"'
}

# ended RANK STATUS TEXT
ended() {
    local status=0
    wait "${pids[$1]}" || status=$?
    [ $status -eq "$2" ] || die "$what: rank $1: exit status $status, not $2: $(cat run/out.*)"
    [ -z "$3" ] || grep -qE -- "$3" "run/out.$1" || die "$what: rank $1 does not say '$3': $(cat run/out.*)"
}

nothing_left() {
    for _ in $(seq 100); do
        if "$lab/netlab" left >said; then
            return 0
        fi
        sleep 0.05
    done
    die "$what has left: $(<said)"
}

# kill_rank RANK HOST
kill_rank() {
    "$lab/rsh" "$2" "for p in /proc/[0-9]*; do [ \"\$(tr '\\0' ' ' <\$p/cmdline 2>/dev/null | cut -d' ' -f1-2)\" = \
        '../domain_rank $1' ] && kill -KILL \${p#/proc/}; done; true" 2>/dev/null
}

for hosts in "tn0 tn1" "tn0 tn0 tn1 tn1" "tn0 tn1 tn2" "tn0 tn0 tn1" "tn1 tn0 tn1 tn2 tn0" "tn2 tn2 tn2"; do
    what="all meet on $hosts"
    begin "$hosts" 200
    for rank in "${!pids[@]}"; do
        ended "$rank" 0 "^ready $rank of"
    done
    nothing_left
done

hosts="tn0 tn0 tn1 tn1 tn2"
for victim in 0 3 4; do
    host=($hosts)
    what="rank $victim dies"
    begin "$hosts" 0
    ready "$hosts"
    kill_rank $victim "${host[victim]}"
    ended $victim 137 ""
    for rank in 0 1 2 3 4; do
        [ $rank = $victim ] || ended $rank 9 "failed exchange: .*rank $victim( on machine ${host[victim]})? died \(process"
    done
    nothing_left
done

what="rank 2 dies before it imports"
begin "$hosts" 0 2
until_said '^prepared' cat run/out.2
kill_rank 2 tn1
for rank in 0 1 3 4; do
    ended $rank 9 "failed import: .*rank 2"
done
ended 2 137 ""
nothing_left

# Cut one way, those that hear nothing end first, and their end may be what the other side hears first.
for way in "" from to; do
    what="the cable of tn1 is cut ($way)"
    begin "$hosts" 0
    ready "$hosts"
    begin_s=$EPOCHSECONDS
    "$lab/netlab" cut tn1 $way
    for rank in 0 1 2 3 4; do
        ended $rank 9 "failed exchange: .*(has been silent for${way:+|died \(})"
    done
    [ $((EPOCHSECONDS - begin_s)) -le 20 ] || die "$what: $((EPOCHSECONDS - begin_s)) s until all said so"
    "$lab/netlab" mend tn1
    nothing_left
done

what="tn2 stands still"
begin "$hosts" 0
ready "$hosts"
"$lab/netlab" stop tn2
for rank in 0 1 2 3; do
    ended $rank 9 "failed exchange: .*machine tn2 \(rank 4\) has been silent for"
done
"$lab/netlab" go tn2
ended 4 9 "failed exchange: "
nothing_left

# While they wait for rank 2, who prepares only: rank 0's and rank 4's machine are cut from each other.
what="a cable is cut while they wait"
begin "$hosts" 0 2
until_said '^prepared' cat run/out.2
sleep 0.5
"$lab/netlab" cut tn2
ended 4 9 "failed import: .*machine tn0 \(ranks 0-1\) has been silent for"
for rank in 0 1 3; do
    ended $rank 9 "failed import: .*machine tn2 \(rank 4\) has been silent for"
done
"$lab/netlab" mend tn2
kill_rank 2 tn1
ended 2 137 ""
nothing_left
