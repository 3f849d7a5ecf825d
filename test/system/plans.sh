#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 180
# tern plan, check and exec as a person would use them: what is planned is proved and runs; the bytes
# counted on links while running are those that the plan promised; exit statuses; sentences.
source "$(dirname "$0")/../support/shell.sh"
# The busiest link, in bytes a run, as planned and as counted.
for algorithm in cut_owners cut_relay cut_optimal; do
    "$tern" plan all_reduce --topo mesh:8 --cut 0-1 --bytes 6M --order any --algo $algorithm \
        --summary -o $algorithm.plan >summary
    expect 0 "proved for 8 ranks" "$tern" check $algorithm.plan --topo mesh:8 --cut 0-1
    expect 1 "does not exist" "$tern" check $algorithm.plan --topo mesh:8 --cut 2-3
    "$tern" exec $algorithm.plan -n 8 --runs 2 >ran
    grep -q 'right on all ranks' ran || die "$algorithm: $(cat ran)"
    planned=$(sed -n 's/^busiest *\([0-9]*\) bytes.*/\1/p' summary)
    counted=$(sed -n 's/^links.*: \([0-9]*\) bytes, .*/\1/p' ran)
    [ -n "$planned" ] && [ "$planned" = "$counted" ] ||
        die "$algorithm: $planned bytes planned on the busiest link, $counted counted"
    if grep -q '^link  *\(0>1\|1>0\) ' ran; then
        die "$algorithm used the cut link"
    fi
done

# Every kind, from a pipe to the checker, and executed.
for kind in all_reduce reduce_scatter all_gather broadcast all_to_all barrier reduce gather scatter; do
    bytes=$([ $kind = barrier ] && echo 0 || echo 60000)
    root=0
    case $kind in broadcast | reduce | gather | scatter) root=3 ;; esac
    "$tern" plan $kind --topo mesh:5 --bytes $bytes --root $root >$kind.plan
    "$tern" check - --topo mesh:5 <$kind.plan >said || die "$kind is not proved: $(cat said)"
    expect 0 "right on all ranks" "$tern" exec $kind.plan -n 5 --runs 2
done

# Over machines: what is selected is proved for them, and runs on one machine, too; what reads other
# machines' memory is refused, and refuted.
for kind in all_reduce reduce_scatter all_gather broadcast all_to_all barrier reduce gather scatter; do
    bytes=$([ $kind = barrier ] && echo 0 || echo 600000)
    root=0
    case $kind in broadcast | reduce | gather | scatter) root=3 ;; esac
    for topo in machines:2+3 machines:5x1; do
        "$tern" plan $kind --topo $topo --bytes $bytes --root $root >over.plan
        expect 0 "reach     proved: no op reads another machine's memory" \
            "$tern" check over.plan --topo $topo
        expect 0 "right on all ranks" "$tern" exec over.plan -n 5 --runs 2
    done
done
for algorithm in one one_sums chain two two_raw; do
    "$tern" plan all_reduce --topo machines:2+3 --bytes 600K --algo $algorithm >over.plan
    expect 0 "in place  proved" "$tern" check over.plan --topo machines:2+3 --in-place
    expect 0 "right on all ranks" "$tern" exec over.plan -n 5 --runs 2
done
expect 0 "port      b (3 ranks): out 614400 bytes, in 614400; 1.0000 of the size, 4915.200 us, 1.0000 times 2(h-1)/h of it" \
    "$tern" plan all_reduce --topo machines:2+3 --bytes 600K --algo chain --summary
expect 1 "rank 0 would need the memory of rank 2, which is on another machine" \
    "$tern" plan all_reduce --topo machines:2+3 --bytes 600K --algo fused
expect 1 "reach: rank 0, lane 0, op 0 (reduce) reads in of rank 2, which is on machine b and not on a" \
    "$tern" check all_reduce.plan --topo machines:2+3

# A rank without an output: the checker refuses to write there, and so does whoever runs it.
expect 0 "plan      reduce fused, 5 ranks, 60000 bytes, unit 4, root 3" \
    "$tern" plan reduce --topo mesh:5 --bytes 60000 --algo fused --root 3 --summary
grep -q '^root 3$' gather.plan || die "the plan of a gather does not name its root"
sed 's/-> 3\.out/-> 2.out/' gather.plan >astray.plan
expect 1 "rank 2 has no out; in a gather only the root has one, rank 3" "$tern" check astray.plan
expect 1 "rank 2 has no output" "$tern" exec astray.plan -n 5 --runs 1 --unchecked

# In place: some plans are right so, some are not, and the report tells that from a wrong plan.
"$tern" plan all_reduce --topo mesh:3 --bytes 60000 --algo one_shot -o one_shot.plan
expect 0 "proved for 3 ranks" "$tern" check one_shot.plan
expect 1 "right, but not in place, for 3 ranks" "$tern" check --in-place one_shot.plan
expect 0 "in place  proved" "$tern" check gather.plan --in-place

# What a call runs: without the signals that copies in slots do not need, and proved under just that.
export TERN_TUNE=''
unset TERN_ALGO
"$tern" plan all_reduce --topo mesh:4 --bytes 4K --as-run slot -o slot.plan
expect 0 "in slots. Not in reach" "$tern" check slot.plan
expect 0 "in place  proved" "$tern" check slot.plan --in-place
sed '/^slots/d' slot.plan >bare.plan
expect 1 "whose lanes may have ended before" "$tern" check bare.plan
expect 1 "wants buffers in slots" "$tern" exec slot.plan -n 4
! grep -q '^check' said || die "what exec refuses is said to be proved: $(cat said)"
"$tern" plan all_gather --topo mesh:4 --bytes 8M --as-run window -o window.plan
expect 0 "right on all ranks" "$tern" exec window.plan -n 4 --runs 1
expect 0 "this is the plan of a piece of" \
    "$tern" plan reduce --topo mesh:4 --bytes 64M --as-run staged -o staged.plan
expect 0 "if scratch lies in slots" "$tern" check staged.plan
expect 1 "there is no way 'slots'; there are window, slot, direct and staged" \
    "$tern" plan all_reduce --topo mesh:4 --bytes 4K --as-run slots
expect 1 "goes through no slot: up to" "$tern" plan all_reduce --topo mesh:4 --bytes 64M --as-run slot
expect 1 "has none from 0 to 1: mesh:4 has" \
    "$tern" plan all_reduce --topo mesh:4 --cut 0-1 --bytes 4K --as-run slot

# A plan that somebody has spoiled.
sed '0,/^wait/{/^wait/d}' all_reduce.plan >spoiled.plan
expect 1 "refuted" "$tern" check spoiled.plan
expect 1 "the plan is refuted" "$tern" exec spoiled.plan -n 5
! grep -q "5 ranks" said || die "a refuted plan has run: $(cat said)"
expect 0 "check     proved" "$tern" exec all_reduce.plan -n 5 --runs 1
expect 0 "check     unchecked, as asked" "$tern" exec all_reduce.plan -n 5 --runs 1 --unchecked
expect 1 "in place  not decided" "$tern" check --in-place spoiled.plan
head -c 300 all_reduce.plan >short.plan
expect 2 "short.plan:" "$tern" check short.plan
expect 2 "missing.plan" "$tern" check missing.plan
expect 2 "which FILE" "$tern" check
expect 2 "--cut and --slow need --topo" "$tern" check all_reduce.plan --cut 0-1
expect 2 "meshy:5" "$tern" check all_reduce.plan --topo meshy:5
"$tern" plan all_reduce --topo mesh:4 --bytes 1K -o four.plan
for topo in mesh:3 mesh:5; do # as tern sim says it
    expect 2 "the plan is for 4 ranks, and $topo has ${topo#*:}" "$tern" check four.plan --topo $topo
done

expect 2 "no kind of collective" "$tern" plan all_redduce --topo mesh:4 --bytes 4
expect 1 "there is no algorithm" "$tern" plan all_reduce --topo mesh:4 --bytes 4 --algo best
expect 2 "5 ranks, not 4" "$tern" exec all_reduce.plan -n 4
expect 2 "an element of f16 has 2" "$tern" exec all_reduce.plan -n 5 --dtype f16
expect 2 "cannot be standard input" "$tern" exec - -n 5
TERN_RANK=0 TERN_NRANKS=3 expect 1 "do not describe a place in a job" "$tern" exec all_reduce.plan

# Data tell ranks apart in every element: a sum of the wrong rank's input is wrong in one run.
"$tern" plan all_reduce --topo mesh:2 --bytes 64 --algo one_shot -o twice.plan
sed -i 's/ 1\.in+0/ 0.in+0/' twice.plan
for op in sum prod max min; do
    for seed in 0 1; do
        expect 1 "is wrong" \
            "$tern" exec twice.plan -n 2 --unchecked --runs 1 --op $op --seed $seed
    done
done

# A plan that cannot end says who waits for what, on every rank, at the deadline.
{
    printf 'tern-plan 1\nkind barrier\nranks 2\nbytes 0\nunit 1\nalgorithm stuck\n'
    printf 'rank 0 lane 0\nwait @0 signal 0 count 1\npost @0 rank 1 signal 0\n'
    printf 'rank 1 lane 0\nwait @0 signal 0 count 1\npost @0 rank 0 signal 0\nend\n'
} >stuck.plan
expect 1 "a cycle: rank 0, lane 0, op 0 (wait) needs signal 0 from rank 1" "$tern" check stuck.plan
expect 1 "the plan is refuted: a cycle" "$tern" exec stuck.plan -n 2
expect 1 "lane 0, op 0" env TERN_TIMEOUT=1 "$tern" exec stuck.plan -n 2 --unchecked
sed 's/^post @0 rank 0.*//' stuck.plan >starved.plan
expect 1 "posted 0 times" "$tern" exec starved.plan -n 2 --unchecked
grep -q '^tern exec: rank [01] exited with status 1' said || die "the launcher says: $(cat said)"

"$tern" exec all_reduce.plan -n 5 --runs 2 --trace trace.json >/dev/null
python3 -m json.tool trace.json >/dev/null || die "the trace is no JSON"
echo "plans are planned, proved and run"
