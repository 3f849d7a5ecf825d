#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 400
# The benchmark still runs and prints a value of tern for every row. Says nothing about speed.
source "$(dirname "$0")/../support/shell.sh"
# Without the peers: their columns are for `make bench`.
python3 "$root/bench/run.py" --quick --no-peers --only basics --build "$build" --output "results.md"
rows=$(grep -c '^| [a-zA-Z]' "results.md")
# the heading and twenty-seven rows
[ "$rows" -eq 28 ] || { echo "the table has $rows lines, not 28"; cat "results.md"; exit 1; }
grep -q 'barrier, 8 ranks' "results.md"
