#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# The page of a trace: python/test/test_timeline.py, pages of tern run. What a browser makes of one: timeline_page.sh.
source "$(dirname "$0")/../support/shell.sh"
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1

python3 -m unittest discover -q -s "$root/python/test" -p test_timeline.py

# The page at once, with and without the trace; also of a job that fails, of one on two hosts, of one that is
# ended by a signal. The trace of a page goes again.
export TMPDIR=$dir
small=("$tern" perf all_reduce --sizes 8,64K -n 3 -w 1)
page_of() { # FILE TITLE RANKS
    grep -qF "<title>$2</title>" "$1" || die "$1 has not the title '$2': $(grep '<title>' "$1")"
    ! compgen -G "$dir/tern-page-*" || die "the trace of a page stays"
    for ((i = 0; i < $3; i++)); do
        grep -q "\"rank $i[\" ]" "$1" || die "$1 has no rank $i"
    done
}
expect 0 "" "$tern" run -n 3 --timeline three.html "${small[@]}"
page_of three.html "tern on 3 ranks" 3
expect 0 "" "$tern" run -n 1 --timeline one.html --trace both.json "${small[@]}"
page_of one.html "tern on 1 rank" 1
[ -s both.json ] || die "--timeline takes the trace away"
expect 7 "rank 1 exited with status 7" "$tern" run -n 2 --timeline failed.html \
    sh -c '[ "$TERN_RANK" = 0 ] || exit 7; exec "$0" perf barrier -n 5' "$tern"
page_of failed.html "sh on 2 ranks" 0
printf '#!/bin/sh\nshift\nexec "$@"\n' >agent && chmod +x agent
expect 0 "" "$tern" run --hosts a:1,b:2 --agent "$dir/agent" --timeline hosts.html "${small[@]}"
page_of hosts.html "tern on a:1,b:2" 3
rm -f ready
expect 143 "" sh -c '"$0" run -n 1 --timeline ended.html sh -c "touch ready; exec sleep 100" &
    until [ -e ready ]; do sleep 0.05; done; kill -TERM $!; wait $!' "$tern"
page_of ended.html "sh on 1 rank" 0
# A simulation that is ended takes its trace away.
mkdir places
for seconds in 0.05 0.1 0.2 0.4; do
    TMPDIR=$dir/places timeout -s TERM $seconds "$tern" sim all_reduce --topo mesh:64 --bytes 64M --timeline sim.html \
        >/dev/null 2>&1 || true
    [ -z "$(ls places)" ] || die "after $seconds s there is $(ls places)"
done

# Also where whoever starts it does not want to hear of its children.
expect 0 "" env --ignore-signal=CHLD "$tern" sim all_reduce --topo mesh:4 --bytes 4K --timeline sim.html

# What cannot be is said before a rank starts.
expect 125 "--timeline: cannot write none/p.html: No such file" \
    "$tern" run -n 2 --timeline none/p.html touch started
TERN_PYTHON=/nowhere/python expect 125 "tern run: /nowhere/python is no Python with its library" \
    "$tern" run -n 2 --timeline p.html touch started
TMPDIR=$dir/none expect 125 "--timeline: cannot make a file in $dir/none" \
    "$tern" run -n 2 --timeline p.html touch started
expect 125 "--trace and --timeline are two files, not both p.html" \
    "$tern" run -n 2 --timeline p.html --trace p.html touch started
[ ! -e started ] && [ ! -e p.html ] || die "a refused page starts ranks, or is there"
# The page that goes wrong after the job is no success.
mkdir "$dir/gone"
expect 1 "tern.timeline: " "$tern" run -n 1 --timeline gone/p.html rm -r "$dir/gone"

python3 "$root/python/test/timeline_traces.py" .
for trace in *.json; do
    expect 0 "" python3 -m tern.timeline "$trace" -o "${trace%.json}.html"
    [ ! -s said ] || die "a page that is written is talked about: $(cat said)"
done
[ "$(stat -c %s large.html)" -lt 3000000 ] || die "100000 events take 3 MB"
