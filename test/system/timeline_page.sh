#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 840
# The page of a trace in a browser, test/browser/timeline.mjs, where Chromium, node and playwright-core are
# installed (contrib/deps.sh --browser). Half a minute alone, and minutes beside others on a slow machine.
source "$(dirname "$0")/../support/shell.sh"
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1

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

expect 0 "verified" "$tern" run -n 2 --trace ffn.json "$build/bin/tp_ffn" --tokens 64 \
    --hidden 64 --intermediate 128 --rounds 2
python3 "$root/python/test/timeline_traces.py" .
for trace in *.json; do
    python3 -m tern.timeline "$trace" -o "${trace%.json}.html"
done
status=0
TERN_CHROMIUM=$(command -v chromium) HOME=$dir timeout 780 node "$root/test/browser/timeline.mjs" . || status=$?
[ "$status" -ne 124 ] || die "the browser has not ended in 780 s; what it had done is above"
exit "$status"
