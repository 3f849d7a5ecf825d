#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 300
# The runner of example folders, python/tern/example: its tests in Python, most of them on a command
# `tern` that only seems to compile and run, some on the real one.
source "$(dirname "$0")/../support/shell.sh"

python=${TERN_PYTHON:-python3}
"$python" -c 'import numpy, pytest' 2>/dev/null || python=/usr/bin/python3
"$python" -c 'import numpy, pytest' 2>/dev/null || {
    echo "python_example.sh: no Python with NumPy and pytest: apt-get install python3-numpy python3-pytest"
    exit 77
}
export TERN_BUILD_DIR=$build PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1
unset TERN_COMMAND TERN_TIMEOUT XDG_CACHE_HOME EXAMPLE_RUNTIME
tests() {
    "$python" -m pytest -q -p no:cacheprovider --rootdir "$root/python/test" "$@"
}
tests "$root"/python/test/test_example_{run,real}.py >run 2>&1 &
tests "$root"/python/test/test_example_{anything,cache,config,dtypes,golden,streams,torch,verify}.py
wait $! || die "$(cat run)"
cat run
