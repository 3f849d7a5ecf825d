#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs one fuzz target: fuzz_run.sh TARGET SEED_DIR CORPUS_DIR. Findings land beside the corpus.
set -euo pipefail

target=$1
seeds=$2
corpus=$3
mkdir -p "$corpus"
dirs=("$corpus")
if [ -d "$seeds" ]; then
    dirs+=("$seeds")
fi
exec "$target" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=10 -rss_limit_mb=2048 \
    -print_final_stats=1 -artifact_prefix="$corpus.finding-" "${dirs[@]}"
