#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 400
# The benchmark still runs and prints a value of tern for every row. Says nothing about speed.
source "$(dirname "$0")/../support/shell.sh"

# Lines of a chapter's tables with a value or a heading: not those that say which peer is missing.
expect_rows() {
    local rows
    rows=$(sed -n "/^## $2$/,/^## /p" results.md | grep '^| [a-zA-Z0-9]' | grep -vc ' is not \| does not ')
    [ "$rows" -eq "$1" ] || { echo "the table has $rows lines, not $1"; cat results.md; exit 1; }
}

# Without the peers: their columns are for `make bench`.
python3 "$root/bench/run.py" --quick --no-peers --only basics --build "$build" --output "results.md"
expect_rows 31 Basics # the heading and thirty rows
grep -q 'barrier, 8 ranks' "results.md"

# The Python bindings, beside C and, where it is installed, mpi4py.
python3 "$root/bench/run.py" --quick --only python --build "$build" --output "results.md"
grep -q '^| Python is not ' results.md || expect_rows 3 Python # the heading and two rows
grep -q '^| all_reduce, 2 ranks | .*mpi4py\|^| mpi4py is not ' results.md

# A host and its chips, which have no peer.
python3 "$root/bench/run.py" --quick --only nodes --build "$build" --output "results.md"
expect_rows 10 Nodes # the heading and nine rows

# Their peers need no launcher, and are quick; what is not installed has a row that says so.
python3 "$root/bench/run.py" --quick --only tasks --build "$build" --output "results.md"
expect_rows 40 Tasks # the heading and thirty-nine rows
for peer in OpenMP StarPU; do
    grep -q "^| what .*| $peer |\|^| $peer is not " "results.md"
done

# Several machines, where hosts can be made.
python3 "$root/bench/run.py" --quick --no-peers --only machines --build "$build" --output "results.md"
grep -q '^Not measured: \|^### all_reduce on 4 hosts' "results.md"

# Each was written beside the others, in their order, with what makes it again.
grep '^## ' results.md >titles
printf '## %s\n' Basics Tasks Nodes Python Machines | diff - titles
[ "$(grep -c '^`bench/run.py --quick .*--only .*, commit ' results.md)" -ge 5 ]
