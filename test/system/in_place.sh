#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# Every algorithm of every kind in place, by TERN_ALGO, with buffers in windows and elsewhere, as `tern perf`
# checks them: no errors. IN_PLACE_RANKS and IN_PLACE_SIZES choose rank counts and sizes; IN_PLACE_TABLE
# names a file for a table of all runs.
source "$(dirname "$0")/../support/shell.sh"
export TERN_TUNE=

kinds="all_reduce reduce_scatter all_gather broadcast reduce gather scatter all_to_all"
for kind in $kinds; do
    "$tern" plan "$kind" --list | awk '{print $1}' >"$kind.names"
done

# The algorithms at one place in the lists of all kinds that can run on so many ranks, as TERN_ALGO has them.
algorithms() {
    local ranks=$1 index=$2 kind name
    for kind in $kinds; do
        name=$(sed -n "${index}p" "$kind.names")
        if [ -n "$name" ] && "$tern" plan "$kind" --topo "mesh:$ranks" --bytes $((ranks * 64)) \
            --unit 4 --order any --algo "$name" -o plan 2>/dev/null; then
            echo "$kind:$name"
        fi
    done | paste -sd,
}

longest=$(wc -l *.names | sed '$d' | sort -n | tail -1 | awk '{print $1}')
for ranks in ${IN_PLACE_RANKS:-2 3 5}; do
    for index in $(seq "$longest"); do
        algo=$(algorithms "$ranks" "$index")
        for window in yes no; do
            [ -n "$algo" ] || continue
            TERN_ALGO=$algo "$tern" perf all -p "$ranks" --in-place --window "$window" \
                --sizes "${IN_PLACE_SIZES:-40,5000,300001}" -n 2 -w 0 --json >rows ||
                die "$ranks ranks, TERN_ALGO=$algo, windows $window: it failed"
            sed "s/^/$window /" rows >>all
        done
    done
done

python3 - all "${IN_PLACE_TABLE:-/dev/null}" <<'PYTHON'
import json, sys
errors, checks = {}, {}
for line in open(sys.argv[1]):
    window, text = line.split(" ", 1)
    row = json.loads(text)
    key = (row["kind"], row["algo"], row["way"], window)
    errors.setdefault(key, {}).setdefault(row["nranks"], 0)
    errors[key][row["nranks"]] += row["errors"]
    checks[key] = checks.get(key, 0) + 1
with open(sys.argv[2], "w") as table:
    print("kind algorithm way windows lines ranks:errors", file=table)
    for key in sorted(errors):
        counts = " ".join(f"{n}:{e}" for n, e in sorted(errors[key].items()))
        print(*key, checks[key], counts, file=table)
wrong = [key for key in errors if any(errors[key].values())]
if wrong:
    sys.exit(f"in_place.sh: wrong results: {wrong}")
if not {"window", "staged", "slot"} <= {key[2] for key in errors}:
    sys.exit("in_place.sh: not every way was taken")
print(f"{sum(checks.values())} lines, no errors")
PYTHON
