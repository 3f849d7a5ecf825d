#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tern plan --emit-executor: a plan as the source of an executor for HCCL's framework; what cannot be one
# is refused with the op and the reason. If the framework's header is there, the source compiles with it,
# and recorded again it gives the same ops.
source "$(dirname "$0")/../support/shell.sh"

# ops RANKS: AllReduce of 64 bytes a rank by owners. Lane 0 is the main stream; lane l adds to, and copies
# from, the rank l behind. Signals: 0 release, 1 collect, 2 ack, 3 data, of each phase, of lane or peer.
ops() {
    local n=$1 rank lane phase peer bytes=64
    signal() { echo $(((phase * 4 + $1) * n + $2)); }
    printf 'tern-plan 1\nkind all_reduce\nranks %d\nbytes %d\nunit 4\nalgorithm owners\nscratch %d\n' \
        "$n" $((bytes * n)) $bytes
    for ((rank = 0; rank < n; rank++)); do
        echo "rank $rank lane 0"
        for phase in 0 1; do
            [ $phase -eq 1 ] || echo "copy @0 $bytes : $rank.in+$((rank * bytes)) -> $rank.scratch+0"
            for ((lane = 1; lane < n; lane++)); do echo "post @0 rank $rank signal $(signal 0 $lane)"; done
            [ $phase -eq 0 ] || echo "copy @0 $bytes : $rank.scratch+0 -> $rank.out+$((rank * bytes))"
            for ((lane = 1; lane < n; lane++)); do echo "wait @0 signal $(signal 1 $lane) count 1"; done
        done
        for ((lane = 1; lane < n; lane++)); do
            peer=$(((rank + lane) % n))
            echo "rank $rank lane $lane"
            for phase in 0 1; do
                # The other way round in the second phase, so that a link is used from two lanes.
                [ $phase -eq 0 ] || peer=$(((rank - lane + n) % n))
                echo "wait @0 signal $(signal 0 $lane) count 1"
                echo "post @0 rank $peer signal $(signal 2 $rank)"
                echo "wait @0 signal $(signal 2 $peer) count 1"
                if [ $phase -eq 0 ]; then
                    echo "reduce @0 $bytes atomic : $rank.in+$((peer * bytes)) -> $peer.scratch+0"
                else
                    echo "copy @0 $bytes : $peer.scratch+0 -> $rank.out+$((peer * bytes))"
                fi
                echo "post @0 rank $peer signal $(signal 3 $rank)"
                echo "wait @0 signal $(signal 3 $peer) count 1"
                echo "post @0 rank $rank signal $(signal 1 $lane)"
            done
        done
    done
    echo end
}

ops 3 >owners.plan
"$tern" check owners.plan >said || die "the plan is wrong: $(cat said)"
"$tern" plan all_reduce --from owners.plan --emit-executor owners.cc --target 910B 2>said
[ "$(grep -c "warning: inline reduces exist on 910B for fp32" said)" -eq "$(wc -l <said)" ] || die "no warning: $(cat said)"
[ "$(grep -cE '^    \{[A-Z]' owners.cc)" -eq $(($(grep -cE '^(copy|reduce|post|wait)' owners.plan) + 1)) ] ||
    die "not as many tasks as ops"
grep -q '^constexpr u32 NOTIFIES = 4;' owners.cc || die "$(grep NOTIFIES owners.cc)"
grep -q '^REGISTER_EXEC("owners", TernAllReduceOwners, TernPlanExecutor);' owners.cc || die "$(tail -4 owners.cc)"
[ "$(grep -c '#include' owners.cc)" -eq 1 ] || die "more than one include"

# refuse TEXT FILE: it cannot be an executor, because
refuse() {
    local status=0
    "$tern" plan all_reduce --from "$2" --emit-executor - >out 2>said || status=$?
    [ $status -eq 1 ] && [ ! -s out ] || die "$2: exit status $status"
    grep -q "cannot be an executor: " said && grep -qF -- "$1" said || die "$2 does not say '$1': $(cat said)"
}
# without SED: the plan, changed
without() {
    sed "$1" owners.plan >changed.plan
}
without 's/^copy @0 64 : 0.in+0 -> 0.scratch+0/copy @0 64 : 0.in+0 -> 0.scratch+0 0.out+0/'
refuse "rank 0, lane 0, op 0 (copy): a copy has one source and one destination" changed.plan
without 's/^copy @0 64 : 0.in+0 -> 0.scratch+0/reduce @0 64 : 0.in+0 0.in+64 -> 0.scratch+0/'
refuse "rank 0, lane 0, op 0 (reduce): a reduce goes into its first source" changed.plan
without 's/^copy @0 64 : 1.scratch+0 -> 0.out/copy @0 64 : 1.in+0 -> 0.out/'
refuse "(copy): of other ranks an executor sees the scratch (the CCL buffers) alone" changed.plan
without 's/^copy @0 64 : 1.scratch+0 -> 0.out/copy @0 64 : 1.scratch+0 -> 2.scratch/'
refuse "(copy): it is between two other ranks" changed.plan
without 's/signal 4 count 1/signal 4 count 2/'
refuse "(wait): it waits for several posts; a notify has one bit" changed.plan
without 's/^wait @0 signal 6 count 1/wait @0 signal 999 count 1/'
refuse "(wait): it never ends; 'tern check' says why" changed.plan
without '/^rank 1 lane 1$/{n;d}'
refuse "rank 1, lane 1, op 0 (post): a slave stream begins by waiting" changed.plan

# A rank that takes from another one what that has not offered.
cat >early.plan <<'PLAN'
tern-plan 1
kind all_reduce
ranks 2
bytes 4
unit 4
algorithm custom
scratch 4
rank 0 lane 0
copy @0 4 : 1.scratch+0 -> 0.out+0
post @0 rank 1 signal 0
rank 1 lane 0
wait @0 signal 0 count 1
copy @0 4 : 0.scratch+0 -> 1.out+0
end
PLAN
"$tern" plan all_reduce --from early.plan --emit-executor early.cc 2>said
[ "$(cat said)" = "tern plan: warning: rank 0, lane 0, op 0 (copy): nothing says that rank 1 has begun, so its \
last operation may use its CCL buffers still: a post of that rank must come first" ] || die "$(cat said)"

# Three posts one after the other over one link, and nothing says that they have come.
cat >bits.plan <<'PLAN'
tern-plan 1
kind all_reduce
ranks 2
bytes 4
unit 4
algorithm custom
rank 0 lane 0
post @0 rank 1 signal 0
post @0 rank 1 signal 1
post @0 rank 1 signal 2
rank 1 lane 0
wait @0 signal 0 count 1
wait @0 signal 1 count 1
wait @0 signal 2 count 1
end
PLAN
refuse "rank 0, lane 0, op 2 (post): both bits of its link, Ack and DataSignal, may still be set" bits.plan
sed -i '/^wait @0 signal 2/d' bits.plan
refuse "rank 0, lane 0, op 2 (post): " bits.plan
sed 's/signal 1$/signal 0/' bits.plan >twice.plan
refuse "rank 0, lane 0, op 1 (post): its signal is posted more than once" twice.plan

# Algorithms of tern, made simple: proved, run, and with tasks that executors have.
simple() { # KIND ALGORITHM TOPOLOGY...
    "$tern" plan "$1" --algo "$2" --bytes 15K --topo "${@:3}" --simple -o simple.plan --emit-executor simple.cc ||
        die "$* cannot be made simple"
    "$tern" check simple.plan --topo "${@:3}" >said || die "$*: $(cat said)"
}
for algorithm in fused one_shot two_shot staged tree cut_small cut_owners; do
    simple all_reduce $algorithm mesh:5
    "$tern" exec simple.plan -n 5 --runs 3 >said || die "$algorithm: $(cat said)"
done
simple all_gather pull mesh:5
simple all_to_all pull mesh:5
simple reduce_scatter direct mesh:5
"$tern" exec simple.plan -n 5 --runs 3 >said || die "$(cat said)"
for algorithm in cut_small cut_owners tree; do
    simple all_reduce $algorithm mesh:5 --cut 0-1
done
"$tern" plan all_reduce --algo halving_doubling --bytes 16K --topo mesh:4 --simple -o simple.plan
"$tern" exec simple.plan -n 4 --runs 3 >said || die "$(cat said)"

# Wrong usage, and a place that cannot be written.
expect() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$tern" plan "$@" >out 2>said || status=$?
    [ $status -eq "$wanted" ] || die "$*: exit status $status"
    grep -qF -- "$text" said || die "$* does not say '$text': $(cat said)"
}
expect 1 "has a plan of all_reduce" broadcast --from owners.plan
expect 2 "not with --bytes" all_reduce --from owners.plan --bytes 4
expect 2 "takes 910B, 910_93 or 950, not '310P'" all_reduce --from owners.plan --target 310P
expect 1 "--simple: a rank has several lanes" all_to_all --topo mesh:4 --bytes 4K --algo direct --simple
expect 1 "--simple: not all ranks have" reduce --topo mesh:4 --bytes 4K --simple
expect 1 "both bits of its link" all_reduce --topo mesh:4 --bytes 4K --algo ring --simple --emit-executor -
expect 1 "cannot write" all_reduce --from owners.plan --emit-executor "$dir/missing/x.cc"

# With the framework's header.
[ -f "$root/include/faces/coll_comm_executor.h" ] && "$tern" plan --help | grep -q -- '--executor ' || {
    echo "emit_executor.sh: no coll_comm_executor.h: what was written is not compiled"
    exit 77
}
printf '#!/bin/sh\nexec g++ "$@" -O0 %s\n' "$quick_link" >g++-O0 # they are compiled more often than they run
chmod +x g++-O0
export CXX=$dir/g++-O0
"$tern" plan all_reduce --algo cut_owners --bytes 15K --topo mesh:5 --cut 0-1 --simple --emit-executor cut.cc
"$tern" plan all_reduce --executor cut.cc --topo mesh:5 --cut 0-1 --bytes 15K --ccl-bytes 64K -o cut.plan
"$tern" check cut.plan --topo mesh:5 --cut 0-1 >said || die "cut_owners, written and recorded: $(cat said)"
for n in 2 3 5; do
    ops $n >owners.plan
    "$tern" plan all_reduce --from owners.plan --emit-executor owners.cc
    "$tern" plan all_reduce --executor owners.cc --topo mesh:$n --bytes $((64 * n)) --ccl-bytes 4096 -o again.plan
    "$tern" plan all_reduce --from again.plan --emit-executor again.cc
    "$tern" plan all_reduce --executor again.cc --topo mesh:$n --bytes $((64 * n)) --ccl-bytes 4096 -o third.plan
    cmp again.plan third.plan || die "$n ranks: written and recorded twice, they differ"
    python3 - <<'PYTHON' || die "$n ranks: recorded again, the ops differ"
import re
def ops(name):
    """The ops by lane, signals by the op that posts them."""
    lanes, posts, lane = {}, {}, None
    for line in open(name):
        words = line.split()
        if words[0] == "rank":
            lane = (int(words[1]), int(words[3]))
            lanes[lane] = []
        elif words[0] in ("copy", "reduce", "post", "wait"):
            op = " ".join(words[:1] + words[2:])
            if words[0] == "post":
                posts[int(words[3]), int(words[5])] = (lane, len(lanes[lane]))
                op = f"post rank {words[3]}"
            lanes[lane].append(op)
    return {lane: [("wait", posts[lane[0], int(op.split()[2])]) if op.startswith("wait") else op for op in row]
            for lane, row in lanes.items()}
assert ops("owners.plan") == ops("again.plan"), (ops("owners.plan"), ops("again.plan"))
PYTHON
done
