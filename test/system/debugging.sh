#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# docs/debugging.md shows what its commands print: each command of a block that runs `faulty` or looks at
# it is run, and every line shown must be among those printed. `…` stands for anything.
source "$(dirname "$0")/../support/shell.sh"
export PATH=$build/bin:$PATH TERN_TUNE='' DEBUGINFOD_URLS='' LC_ALL=C.UTF-8
unset TERN_LOG TERN_ERRORS TERN_ALGO
launcher=
at_exit() {
    [ -z "$launcher" ] || kill "$launcher" 2>/dev/null || true
    wait 2>/dev/null || true
}

# A job that hangs, for the commands that look at one.
TERN_TIMEOUT=200 tern run -n 3 faulty hang 2>/dev/null &
launcher=$!
export LAUNCHER=$launcher
for _ in $(seq 400); do
    tern info --job "$LAUNCHER" --last 0 >job 2>/dev/null || true
    [ "$(grep -c 'waits in all_reduce 2' job)" -lt 2 ] || break
    sleep 0.05
done
PROCESS_OF_RANK_2=$(awk '$1 == 2 { print $2 }' job)
export PROCESS_OF_RANK_2
[ -n "$PROCESS_OF_RANK_2" ] || die "there is no job to look at: $(cat job)"

can_run() {
    [[ $1 != *gdb* ]] || { command -v gdb >/dev/null && gdb -q -batch -p "$LAUNCHER" >/dev/null 2>&1; }
}

count=0
skipped=0
# compare COMMAND: its lines on the page are in `wanted`.
compare() {
    local line pattern
    case $1 in
    *./program*) return ;; # of another page's making
    *'&') return ;;        # runs already
    esac
    if ! can_run "$1"; then
        skipped=$((skipped + 1))
        return
    fi
    timeout 60 bash -c "$1" </dev/null >said 2>&1 || true
    while IFS= read -r line; do
        pattern=$(sed -e 's/[][\.*^$()+?{}|/]/\\&/g' -e 's/…/.*/g' -e 's/ \+/ +/g' <<<"$line")
        grep -qE "^$pattern\$" said || die "'$1' does not print '$line', but: $(cat said)"
    done <wanted
    count=$((count + 1))
}

command=
while IFS= read -r line; do
    case $line in
    '$ '*)
        [ -z "$command" ] || compare "$command"
        command=${line#'$ '}
        : >wanted
        ;;
    END)
        [ -z "$command" ] || compare "$command"
        command=
        ;;
    *) printf '%s\n' "$line" >>wanted ;;
    esac
done < <(awk '/^```/ { inside = !inside; if (!inside) print "END"; next } inside' "$root/docs/debugging.md")

# What faulty does not know is no success.
! tern run -n 3 faulty nope >said 2>&1 || die "faulty takes any word"
grep -q 'usage: faulty' said || die "faulty does not say what it takes: $(cat said)"
! tern run -n 2 faulty crash >said 2>&1 || die "faulty crash succeeds without a rank 2"
grep -q 'start at least 3 ranks' said || die "faulty does not ask for 3 ranks: $(cat said)"

[ "$count" -ge 8 ] || die "only $count commands were found"
echo "debugging.sh: $count commands print what docs/debugging.md shows ($skipped need a gdb that may attach)"
