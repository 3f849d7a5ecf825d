#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# bench/predicted.py still makes its tables: the simulator beside calls on this machine, and beside plans
# between hosts, where labs are allowed. Says nothing about how near they are.
source "$(dirname "$0")/../support/shell.sh"
build=$(cd "$(dirname "$tern")/.." && pwd)
python3 "$root/bench/predicted.py" --quick --build "$build" >tables || die "it has failed: $(cat tables)"
grep -q '^## AllReduce on this machine' tables || die "no table of this machine: $(cat tables)"
grep -qE '^\| 65536( \| [0-9.e+]+){2} \| [0-9.]+ \|$' tables || die "no row of 64 KiB: $(cat tables)"
grep -q '^## Plans on hosts' tables || die "no table of hosts: $(cat tables)"
if ! grep -q '^Not measured: ' tables; then
    grep -qE '^\| 1\+1 \| all_reduce, ring, by hand( \| [0-9.e+]+){2} \| [0-9.]+ \|$' tables ||
        die "no row of the ring: $(cat tables)"
fi
[ "$(grep -c '^Off by ' tables)" -ge 1 ] || die "no summary: $(cat tables)"
