#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# tern exec between machines: the algorithms of every kind run and are verified, with element types
# of every size; what is counted on the wires is what was planned; ranks that tern run or an MPI has
# started; plans that do not fit the machines, and what would; files that are not there.
source "$(dirname "$0")/../support/shell.sh"
kinds="all_reduce reduce_scatter all_gather broadcast all_to_all barrier reduce gather scatter"

# hosts COUNT...: so many ranks on each, all of them this machine
hosts() {
    local list=''
    for count; do list=$list,localhost:$count; done
    echo "${list#,}"
}

# walk TOPO UNIT COUNT...: every algorithm that can
walk() {
    local topo=$1 unit=$2 kind algorithm root bytes ran=0
    shift 2
    for kind in $kinds; do
        root=0 bytes=$((48000 * unit))
        case $kind in broadcast | reduce | gather | scatter) root=1 ;; barrier) bytes=0 ;; esac
        for algorithm in $("$tern" plan $kind --list | sed 's/ .*//'); do
            "$tern" plan $kind --topo $topo --bytes $bytes --unit $unit --root $root --order any \
                --algo $algorithm -o walk.plan 2>/dev/null || continue
            expect 0 "runs, right on all ranks" \
                "$tern" exec walk.plan --hosts "$(hosts "$@")" --runs 3
            grep -q '^check     proved.* on [0-9]* machines$' said || die "$(cat said)"
            ran=$((ran + 1))
        done
    done
    [ $ran -ge 20 ] || die "$topo: only $ran plans ran"
}
if [ "${TERN_TEST_WALK:-}" = all ]; then
    for unit in 1 2 4 8; do
        walk machines:2x2 $unit 2 2
        walk machines:2x3 $unit 3 3
        walk machines:3x1 $unit 1 1 1
        walk machines:4x2 $unit 2 2 2 2
    done
fi
walk machines:2x2 4 2 2
walk machines:2x3 2 3 3
walk machines:3x1 1 1 1 1
walk machines:2+1 8 2 1

# The bytes between machines are those that the summary promised for its ports.
"$tern" plan all_reduce --topo machines:2x2 --bytes 1M --algo chain --summary -o chain.plan >summary
[ "$(grep -c '^port .* out 1048576 bytes, in 1048576' summary)" -eq 2 ] || die "$(cat summary)"
expect 0 "right on all ranks" "$tern" exec chain.plan --hosts "$(hosts 2 2)" --dtype i32 --op max
[ "$(awk '/^link +[01]>[23]/ {sum += $3} END {print sum}' said)" -eq 1048576 ] || die "$(cat said)"
[ "$(awk '/^link +[23]>[01]/ {sum += $3} END {print sum}' said)" -eq 1048576 ] || die "$(cat said)"

# A plan for more machines runs on fewer, one for fewer does not on more.
"$tern" plan all_reduce --topo machines:4x1 --bytes 1M --algo chain -o apart.plan
expect 0 "right on all ranks" "$tern" exec apart.plan --hosts "$(hosts 2 2)" --runs 2
expect 1 "reads in of rank 1, which is on machine b and not on a; who has it can copy it there; --hosts a:2,b:2 would fit" \
    "$tern" exec chain.plan --hosts "$(hosts 1 1 1 1)"
expect 1 "on machine b and not on a; who has it can copy it there; --hosts a:2,b:2 would fit" \
    "$tern" exec chain.plan --hosts "$(hosts 3 1)"
expect 2 "the plan is for 4 ranks, and the hosts have 5; --hosts a:2,b:2 would fit" \
    "$tern" exec chain.plan --hosts "$(hosts 2 3)"
expect 2 "-n 3, and the hosts have 4 ranks" "$tern" exec chain.plan -n 3 --hosts "$(hosts 2 2)"
"$tern" plan all_reduce --topo mesh:4 --bytes 1M --algo fused -o fused.plan
expect 1 "the plan is refuted on these machines: rank 0, lane 0, op 0 (reduce) reads in of rank 2, which is on machine b and not on a; who has it can copy it there; one machine, -n 4, would fit" \
    "$tern" exec fused.plan --hosts "$(hosts 2 2)"
expect 1 "tern_exec_create: rank 0, lane 0, op 0 (reduce) reads in of rank 2, which is on machine localhost#2 and not on localhost" \
    "$tern" exec fused.plan --hosts "$(hosts 2 2)" --unchecked
expect 0 "right on all ranks" "$tern" exec fused.plan --hosts "$(hosts 4)" --runs 2

# Puts that arrive in time by luck only: the post that says so is of another rank.
cat >late.plan <<'END'
tern-plan 1
kind broadcast
ranks 3
bytes 4
unit 4
algorithm late
root 0
rank 0 lane 0
copy @0 4 : 0.in+0 -> 0.out+0 2.out+0
post @0 rank 1 signal 0
wait @0 signal 0 count 1
rank 1 lane 0
wait @0 signal 0 count 1
copy @0 4 : 0.in+0 -> 1.out+0
post @0 rank 2 signal 0
post @0 rank 0 signal 0
rank 2 lane 0
wait @0 signal 0 count 1
end
END
expect 1 "the plan is refuted: rank 0, lane 0, op 0 (copy) puts to rank 2 on machine b" \
    "$tern" exec late.plan --hosts "$(hosts 2 1)"

# In a job that somebody else has started.
expect 0 "right on all ranks" "$tern" run --hosts "$(hosts 2 2)" "$tern" exec chain.plan --runs 2
[ "$(grep -c 'on 2 machines' said)" -eq 1 ] || die "$(cat said)"
expect 0 "if all links exist" "$tern" run -n 4 "$tern" exec fused.plan --runs 2
expect 1 "on machine localhost#2 and not on localhost; who has it can copy it there; one machine, -n 4, would fit" \
    "$tern" run --hosts "$(hosts 2 2)" "$tern" exec fused.plan
expect 2 "the plan is for 4 ranks, and the job has 3; --hosts a:2,b:2 would fit" \
    "$tern" run --hosts "$(hosts 2 1)" "$tern" exec chain.plan
[ "$(grep -c 'would fit' said)" -eq 1 ] || die "not only rank 0 says it: $(cat said)"
expect 2 "--trace is for one machine" \
    "$tern" run --hosts "$(hosts 2 2)" "$tern" exec chain.plan --trace trace.json
expect 2 "-n N or --hosts LIST is missing: how many ranks?" "$tern" exec chain.plan
for ((rank = 0; rank < 4; rank++)); do # ranks of one machine need not follow one another
    TERN_EXCHANGE=$rank:4:$dir/exchange TERN_MACHINE=m$((rank % 2)) \
        "$tern" exec apart.plan --runs 2 >said.$rank 2>&1 &
done
wait
grep -q 'right on all ranks' said.0 || die "ranks on two machines in turn: $(cat said.?)"
if command -v mpiexec.hydra >/dev/null; then
    expect 0 "right on all ranks" mpiexec.hydra -n 4 "$tern" exec fused.plan --runs 2
fi

# Wrong words.
expect 2 "--agent goes with --hosts LIST" "$tern" exec chain.plan -n 4 --agent ssh
expect 2 "--env goes with --hosts LIST" "$tern" exec chain.plan -n 4 --env HOME
expect 2 "--hosts: the host 'a:0' has ':0' behind it" "$tern" exec chain.plan --hosts a:0
expect 2 "--trace is for one machine: clocks of machines differ" \
    "$tern" exec chain.plan --hosts "$(hosts 2 2)" --trace trace.json
expect 125 "cannot start host" "$tern" exec chain.plan --hosts a:2,b:2 --agent false
# A host without the file says so.
mkdir here
cp chain.plan here/only_here.plan
cat >agent <<END
#!/bin/sh
[ "\$1" = a ] || rm -f "$dir/here/only_here.plan"
shift
exec "\$@"
END
chmod +x agent
expect 2 "only_here.plan" "$tern" exec here/only_here.plan --hosts a:2,b:2 --agent "$dir/agent"
