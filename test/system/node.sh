#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# The example of a host and its chips: every case verifies its values; few chips and many; and
# what is refused.
source "$(dirname "$0")/../support/shell.sh"
node=$build/bin/node
export TERN_TIMEOUT=30

for ranks in 4 6 9; do
    expect 0 "" "$tern" run -n "$ranks" "$node"
    [ "$(grep -c ": verified$" said)" -eq 11 ] || die "with $ranks ranks: $(cat said)"
done
expect 0 "child_memory: verified" "$tern" run -n 2 "$node"
[ "$(grep -c ": verified$" said)" -eq 3 ] || die "with one chip: $(cat said)"
for name in ffn_tp_parallel async_notify; do
    expect 0 "$name: verified" "$tern" run -n 3 "$node" "$name"
done

expect 2 "the cases are multi_chip_dispatch" "$node" nonsense
expect 1 "allreduce needs 2 chips, so 3 ranks" "$tern" run -n 2 "$node" allreduce
expect 1 "the host is rank 0, and every chip is another rank" "$node"
echo "node runs"
