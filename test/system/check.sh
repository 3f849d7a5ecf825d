#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# tern check on text that was written to be hard to check: many lanes that know nothing, many that are
# stuck, many ranges apart; and on the largest plans that it promises to check. Each gets its sentence
# within memory and processor time that a checker which compares all with all exceeds by far.
source "$(dirname "$0")/../support/shell.sh"
head_of() { # KIND RANKS BYTES
    printf 'tern-plan 1\nkind %s\nranks %s\nbytes %s\nunit 1\nalgorithm hostile\n' "$1" "$2" "$3"
}

# 64 ranks of 1024 lanes, of which only the last does something.
empty_lanes() {
    head_of barrier 64 0
    awk 'BEGIN { for (r = 0; r < 64; r++) {
        for (l = 0; l < 1024; l++) printf "rank %d lane %d\n", r, l
        for (p = 0; p < 64; p++) printf "post @0 rank %d signal 0\n", p
        print "wait @0 signal 0 count 64" }
        print "end" }'
}

# 12288 lanes, each waiting for the next one, the last for the first.
stuck_lanes() {
    head_of barrier 12 0
    awk 'BEGIN { for (r = 0; r < 12; r++) for (l = 0; l < 1024; l++) {
        next_lane = (r * 1024 + l + 1) % 12288
        printf "rank %d lane %d\nwait @0 signal %d count 1\n", r, l, l
        printf "post @0 rank %d signal %d\n", int(next_lane / 1024), next_lane % 1024 }
        print "end" }'
}

# 400000 bytes, each copied alone, in an order that jumps about.
ranges() {
    head_of all_reduce 1 400000
    awk 'BEGIN { print "rank 0 lane 0"
        for (i = 0; i < 400000; i++) {
            at = (i * 39119) % 400000
            printf "copy @0 1 : 0.in+%d -> 0.out+%d\n", at, at }
        print "end" }'
}

# expect STATUS MIB SECONDS TEXT FILE: with so much address space and processor time
expect() {
    local wanted=$1 mib=$2 seconds=$3 text=$4 file=$5 status=0
    (ulimit -v $((mib * 1024)) -t "$seconds" && exec "$tern" check "$file") >said 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || die "$file: exit status $status, not $wanted: $(head -3 said)"
    grep -qF -- "$text" said || die "$file does not say '$text': $(head -3 said)"
}

empty_lanes >empty.plan
stuck_lanes >stuck.plan
ranges >ranges.plan
expect 0 1024 10 'proved for 64 ranks and 4160 ops' empty.plan
expect 1 1024 10 'needs signal 0 from rank 11, lane 1023, op 0 (wait)' stuck.plan
expect 0 1024 10 'proved for 1 ranks and 400000 ops' ranges.plan

# Every lane of these comes to know of nearly all others.
"$tern" plan all_reduce --topo mesh:128 --cut 3-77 --bytes 1M --order any --algo cut_optimal \
    -o optimal.plan
"$tern" plan all_to_all --topo mesh:256 --bytes 16M --algo direct -o direct.plan
"$tern" plan reduce_scatter --topo mesh:512 --bytes 16M --order any --algo ring -o ring.plan
expect 0 1024 60 'proved for 128 ranks' optimal.plan
expect 0 1024 60 'proved for 256 ranks' direct.plan
expect 0 1024 60 'proved for 512 ranks' ring.plan
