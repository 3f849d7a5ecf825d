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
    [ "$(grep -c ": verified$" said)" -eq 4 ] || die "with $ranks ranks: $(cat said)"
done
expect 0 "child_memory: verified" "$tern" run -n 2 "$node"
[ "$(grep -c ": verified$" said)" -eq 3 ] || die "with one chip: $(cat said)"

expect 2 "the cases are multi_chip_dispatch" "$node" nonsense
expect 1 "message_queue needs 2 chips, so 3 ranks" "$tern" run -n 2 "$node" message_queue
expect 1 "the host is rank 0, and every chip is another rank" "$node"
echo "node runs"
