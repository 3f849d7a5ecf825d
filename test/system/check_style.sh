#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tern check --style hccl: a line for each check, always and in this order; the codes of what is wrong,
# all of it; tasks in the notation of HCCL's analyser; and the exit status of the usual report.
source "$(dirname "$0")/../support/shell.sh"
plan() { # KIND RANKS BYTES, ops from standard input
    printf 'tern-plan 1\nkind %s\nranks %s\nbytes %s\nunit 4\n' "$1" "$2" "$3"
    echo 'algorithm custom'
    [ "$1" != broadcast ] || echo 'root 0'
    echo 'scratch 64'
    cat
    echo end
}
checks="structure sync bounds conflicts semantics links lost"
# check STATUS OPTIONS: into the file said; the summary has all its lines
check() {
    local wanted=$1 status=0
    shift
    "$tern" check --style hccl "$@" >said || status=$?
    [ "$status" -eq "$wanted" ] || die "$*: exit status $status, not $wanted: $(cat said)"
    [ "$(head -7 said | cut -d' ' -f1 | tr '\n' ' ')" = "$checks " ] || die "$*: $(head -8 said)"
}
says() {
    grep -qF -- "$1" said || die "does not say '$1': $(cat said)"
}

"$tern" plan all_reduce --topo mesh:3 --bytes 3K --algo ring -o right.plan
check 0 right.plan
[ "$(head -7 said | grep -c ' ok')" -eq 7 ] || die "not all are ok: $(cat said)"
says "check success: 3 ranks"

# Everything at once: a wait in vain, an operand outside, overlap, half an element, a missing link.
plan broadcast 2 16 >wrong.plan <<'PLAN'
rank 0 lane 0
copy @0 16 : 0.in+0 -> 0.out+4
copy @0 8 : 0.scratch+0 -> 0.scratch+4
copy @0 6 : 0.in+0 -> 0.out+0
copy @0 16 : 0.in+0 -> 1.out+0
post @0 rank 1 signal 0
rank 1 lane 0
wait @0 signal 0 count 2
rank 1 lane 1
copy @0 4 : 1.scratch+0 -> 1.scratch+4
PLAN
check 1 wrong.plan --topo mesh:2 --cut '0>1'
for line in "structure      ok, 1 note" "sync           1" "bounds         4" "conflicts      not decided" \
    "semantics      not decided" "links          2"; do
    says "$line"
done
says "error 109: rank 0, lane 0, op 0 (copy)"
says "error 202: rank 0, lane 0, op 1 (copy)"
says "error 201: rank 0, lane 0, op 2 (copy)"
says "error 102: rank 1, lane 0, op 0 (wait)"
says "error: rank 0, lane 0, op 3 (copy): writing needs the link 0>1"
says "    [rankId:0, queueId:0, index:3] Write[srcSlice=DataSlice[BufferType::INPUT, offset=0, size=16], \
dstSlice=DataSlice[rankId:1, BufferType::OUTPUT, offset=0, size=16]]"
says "    [rankId:1, queueId:0, index:0] Wait[remoteRank:0, topicId:0, count:2]"
says "note structure: [rankId:1, queueId:1]"
says "check failed"

# Sums: a race with both tasks, a sum without a rank, bytes that nobody wrote.
plan all_reduce 2 8 >race.plan <<'PLAN'
rank 0 lane 0
reduce @0 4 : 0.in+0 1.in+0 -> 0.out+0
copy @0 4 : 0.out+0 -> 1.out+0
post @0 rank 1 signal 0
wait @0 signal 0 count 1
rank 1 lane 0
copy @0 4 : 1.in+0 -> 1.out+0
post @0 rank 0 signal 0
wait @0 signal 0 count 1
PLAN
check 1 race.plan
says "error 302: "
says "[rankId:1, queueId:0, index:0] LocalCopy[srcSlice"
plan all_reduce 2 8 >partial.plan <<'PLAN'
rank 0 lane 0
reduce @0 4 : 0.in+0 1.in+0 -> 0.out+0
copy @0 4 : 0.in+4 -> 0.out+4
reduce @0 8 atomic : 0.in+0 -> 1.scratch+0
post @0 rank 1 signal 0
wait @0 signal 0 count 1
rank 1 lane 0
post @0 rank 0 signal 0
wait @0 signal 0 count 1
PLAN
check 1 partial.plan
says "error 405: out of rank 0, bytes 4..8"
says "error 402: out of rank 1"

# Reduces at the same time are no conflict; a copy in between is one.
adders() {
    plan all_reduce 3 4 <<PLAN
rank 0 lane 0
copy @0 4 : 0.in+0 -> 0.scratch+0
post @0 rank 1 signal 0
post @0 rank 2 signal 0
wait @0 signal 1 count 2
copy @0 4 : 0.scratch+0 -> 0.out+0
copy @0 4 : 0.scratch+0 -> 1.out+0
copy @0 4 : 0.scratch+0 -> 2.out+0
post @0 rank 1 signal 2
post @0 rank 2 signal 2
rank 1 lane 0
wait @0 signal 0 count 1
reduce @0 4 atomic : 1.in+0 -> 0.scratch+0
post @0 rank 0 signal 1
wait @0 signal 2 count 1
rank 2 lane 0
wait @0 signal 0 count 1
$1
post @0 rank 0 signal 1
wait @0 signal 2 count 1
PLAN
}
adders "reduce @0 4 atomic : 2.in+0 -> 0.scratch+0" >adders.plan
check 0 adders.plan
says "note conflicts: reduces into one range at the same time are no conflict"
says "1-bit notify would not do"
adders "copy @0 4 : 2.in+0 -> 0.scratch+0" >clash.plan
check 1 clash.plan
says "WriteReduce[srcSlice=DataSlice[BufferType::INPUT, offset=0, size=4], dstSlice=DataSlice[rankId:0, \
BufferType::SCRATCH, offset=0, size=4]]"
check 0 --in-place right.plan
says "in place       ok"
status=0
"$tern" check --style nccl right.plan 2>said || status=$?
[ "$status" -eq 2 ] || die "exit status $status"
says "takes tern or hccl, not 'nccl'"
