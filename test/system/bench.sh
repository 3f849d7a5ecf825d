#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 400
# The benchmark still runs and prints a value of tern for every row. Says nothing about speed.
source "$(dirname "$0")/../support/shell.sh"
# Without the peers: their columns are for `make bench`.
python3 "$root/bench/run.py" --quick --no-peers --only basics --build "$build" --output "results.md"
rows=$(grep -c '^| [a-zC]' "results.md")
# the heading and twelve rows
[ "$rows" -eq 13 ] || { echo "the table has $rows lines, not 13"; cat "results.md"; exit 1; }
grep -q 'barrier, 8 ranks' "results.md"
