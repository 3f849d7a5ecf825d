# SPDX-License-Identifier: Apache-2.0
#
# After shell.sh, in scripts that run Python:
#
#     find_python      sets $python: TERN_PYTHON, else python3 when it has NumPy, else Debian's
#     run_pytest FILE...   the files of python/test, with the bindings and the library of this build
#
# A machine without NumPy or pytest skips the test (77), and the sentence says what to install.
export PYTHONPATH=$root/python PYTHONDONTWRITEBYTECODE=1 TERN_LIBRARY=$build/lib/libtern.so

find_python() {
    local one
    for one in ${TERN_PYTHON:-python3 /usr/bin/python3}; do
        if "$one" -c 'import numpy, pytest' 2>/dev/null; then
            python=$(command -v "$one") # pip wants a path
            return
        fi
    done
    echo "${0##*/}: no Python with NumPy and pytest: contrib/deps.sh installs both" >&2
    exit 77
}

run_pytest() {
    find_python
    "$python" -m pytest -q -p no:cacheprovider --durations=5 "${@/#/$root/python/test/}"
}
