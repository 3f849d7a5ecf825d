#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# The small examples run, with few and many ranks, and say what they say.
source "$(dirname "$0")/../support/shell.sh"
bin=$build/bin
for n in 1 2 3 5 8 16; do
    said=$("$bin/tern" run -n "$n" "$bin/ring")
    [ "$said" = "the token went around $n ranks 100 times" ] || { echo "ring: $said"; exit 1; }
    said=$("$bin/comm_allreduce" "$n")
    [ "$said" = "$n ranks have the same sum" ] || { echo "comm_allreduce: $said"; exit 1; }
done
said=$("$bin/comm_allreduce" 65 2>&1) && { echo "65 ranks were not refused"; exit 1; }
[[ $said == *"starts its ranks itself, without 'tern run'" ]] || { echo "comm_allreduce: $said"; exit 1; }
echo "examples run"
