#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
# The page of a trace: python/test/test_timeline.py, a trace of tern run; then, where Chromium, node and
# playwright-core are installed (contrib/deps.sh --browser), test/browser/timeline.mjs in a browser.
source "$(dirname "$0")/../support/shell.sh"
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1

python3 -m unittest discover -q -s "$root/python/test" -p test_timeline.py

expect 0 "verified" "$tern" run -n 2 --trace ffn.json "$build/bin/tp_ffn" --tokens 64 \
    --hidden 64 --intermediate 128 --rounds 2
python3 "$root/python/test/timeline_traces.py" .
for trace in *.json; do
    expect 0 "" python3 -m tern.timeline "$trace" -o "${trace%.json}.html"
    [ ! -s said ] || die "a page that is written is talked about: $(cat said)"
done
[ "$(stat -c %s large.html)" -lt 3000000 ] || die "100000 events take 3 MB"

for command in chromium node; do
    command -v "$command" >/dev/null || {
        echo "skipped: the page in a browser; contrib/deps.sh --browser installs $command"
        exit 0
    }
done
[ -d "$root/test/browser/node_modules/playwright-core" ] || {
    echo "skipped: the page in a browser; contrib/deps.sh --browser installs playwright-core"
    exit 0
}
TERN_CHROMIUM=$(command -v chromium) HOME=$dir timeout 180 node "$root/test/browser/timeline.mjs" .
