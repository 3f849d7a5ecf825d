#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 180
# What tern writes and cannot write: standard output that gets lost is an error of every command; files
# appear whole or not at all; names of pipes and folders are refused at once.
source "$(dirname "$0")/../support/shell.sh"
# refused TEXT COMMAND...: it fails, within seconds, with a sentence that has TEXT in it
refused() {
    local text=$1 status=0
    shift
    timeout 20 "$@" >"$dir/said" 2>&1 </dev/null || status=$?
    [ "$status" -ne 0 ] || die "$*: exit status 0"
    [ "$status" -ne 124 ] || die "$*: still running after 20 s"
    grep -qF -- "$text" "$dir/said" || die "$*: does not say '$text': $(head -3 "$dir/said")"
    rm "$dir/said"
}

"$tern" plan all_reduce --topo mesh:2 --bytes 4096 >a.plan

# Standard output, of every command.
while read -r -a words; do
    status=0
    "$tern" "${words[@]}" >/dev/full 2>said || status=$?
    [ "$status" -eq 1 ] || die "tern ${words[*]} >/dev/full: exit status $status, not 1"
    grep -q 'cannot be written: \|cannot write' said || die "tern ${words[*]}: $(cat said)"
done <<'COMMANDS'
--help
--version
run --help
plan --help
plan all_reduce --list
plan all_reduce --topo mesh:2 --bytes 64
plan all_reduce --topo mesh:2 --bytes 64 --summary
check --help
check a.plan
exec --help
exec a.plan -n 2 --runs 2
perf --help
perf all_reduce -p 2 --sizes 8 -n 1
tune --help
info
info --help
info --algos
COMMANDS
# shellcheck disable=SC2016
refused "cannot be written: it is closed" sh -c '"$0" perf all_reduce -p 2 --sizes 8 -n 1 >&-' "$tern"

# A disk that becomes full: no half file, and the old one is still there.
on_small_disk() {
    mount -t tmpfs -o size=16k tmpfs disk
    cp a.plan disk
    cd disk
    echo old >old
    refused "No space left on device" "$tern" exec a.plan -n 2 --runs 200 --trace new
    refused "No space left on device" "$tern" exec a.plan -n 2 --runs 200 --trace old
    refused "No space left on device" "$tern" perf all -p 2 --sizes 8,64,512,4K -n 1 --plot new
    refused "No space left on device" "$tern" plan all_reduce --topo mesh:64 --bytes 1M \
        --algo two_shot -o new
    [ "$(cat old)" = old ] || die "a trace that could not be written has spoiled the old file"
    [ "$(echo *)" = "a.plan old" ] || die "left on the full disk: $(echo *)"
}
mkdir disk
if unshare -rm mount -t tmpfs -o size=16k tmpfs disk 2>/dev/null; then
    export -f die refused on_small_disk
    export tern dir
    unshare -rm bash -euc on_small_disk
else
    echo "no small disk can be mounted here: full disks are left to the test base/file"
fi
rmdir disk

# An interrupt while it measures leaves no picture.
status=0
timeout -s INT 1 "$tern" perf all_reduce -p 2 -b 1M -e 16M -n 100000 --plot cut.svg >said 2>&1 || status=$?
[ "$status" -ne 0 ] || die "the interrupted measurement has exit status 0"
rm said
[ "$(echo *)" = a.plan ] || die "an interrupt left: $(echo *)"
refused "a barrier has no size" "$tern" perf barrier -p 2 -n 1 --plot cut.svg
refused "--trace: cannot write none/a.json: No such file" "$tern" exec a.plan -n 2 --trace none/a.json
! "$tern" exec a.plan -n 2 --trace none/a.json >said 2>&1 && [ "$(wc -l <said)" -eq 1 ] ||
    die "a trace that cannot be written is told in more than a line: $(cat said)"
rm said
refused "No such file" "$tern" perf all_reduce -p 2 -n 1 --plot none/cut.svg
refused "--plot needs a value, not ''" "$tern" perf all_reduce -p 2 -n 1 --plot ''
[ ! -e cut.svg ] || die "a refused plot left a file"

# Pipes and folders.
mkfifo pipe.json
mkdir folder.json
for name in pipe.json folder.json; do
    refused "not a file" "$tern" plan all_reduce --topo ./$name --bytes 64
    refused "not a file" "$tern" check a.plan --topo ./$name
    refused "not a file" "$tern" check $name
    refused "a file" "$tern" exec $name -n 2
    refused "not a file" env TERN_TUNE=$PWD/$name "$tern" info --algos
done
"$tern" check - <a.plan >/dev/null || die "a plan on standard input is not read"
# What goes with another option; a compiler that says nothing.
refused "--env goes with --hosts" "$tern" run -n 2 --env A=b true
echo >one.cpp
refused "'/bin/false' ended with status 1" env CXX=/bin/false "$tern" kernel-cc one.cpp -o one.so
echo "what cannot be written or read is said"
