#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# The examples whose ranks are on several machines, by the commands for one and --hosts: their own
# verification says whether results are right. TERN_TEST_LONG=1 walks more shapes.
source "$(dirname "$0")/../support/shell.sh"
export TERN_TIMEOUT=60
bin=$build/bin

# right HOSTS TEXT PROGRAM WORDS...
right() {
    expect 0 "$2" timeout 120 "$tern" run --hosts "$1" "$bin/$3" "${@:4}" </dev/null
    ! grep -q 'tern run:' said || die "$*: $(cat said)"
}

shapes=(localhost:1,localhost:2)
[ -z "${TERN_TEST_LONG:-}" ] ||
    shapes+=(localhost:1,localhost:1 localhost:2,localhost:2 localhost:1,localhost:1,localhost:1)
for hosts in "${shapes[@]}"; do
    for program in alternating attention mixed notify experts; do
        right "$hosts" ': verified' "graph_$program"
    done
    right "$hosts" ', held by wait: verified' graph_notify --hold wait
    for builder in host chip tensors; do
        right "$hosts" "builder $builder: verified" graph_bgemm --builder "$builder"
    done
    for language in "" _c; do
        for pattern in all_reduce p2p reduce; do
            right "$hosts" ': verified' "pattern_$pattern$language"
        done
        right "$hosts" 'GEMM and AllReduce: verified' "pattern_gemm_all_reduce$language" \
            --runs 1 --m 129 --k 65 --n 257
    done
    right "$hosts" 'the token went around' ring
    right "$hosts" 'deferred_notify: verified' node
done
right localhost:1,localhost:2,localhost:2 'deferred_notify: verified' node # all cases: four chips
right localhost:1,localhost:1 verified tp_ffn --tokens 512 --rounds 2
right localhost:2,localhost:2 verified tp_ffn --tokens 512 --rounds 2 --dtype bf16
