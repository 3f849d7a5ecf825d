#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 60
# The Python package where users find it: pip installs it from the source tree and from an installed
# tern, without a network; by PYTHONPATH in that; and gone when tern is uninstalled.
source "$(dirname "$0")/../support/shell.sh"
source "$root/test/support/python.sh"
find_python
export PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
unset TERN_LIBRARY LD_LIBRARY_PATH PYTHONPATH PYTHONDONTWRITEBYTECODE
if ! "$python" -m pip --version >/dev/null 2>&1; then
    echo "skipped: $python has no pip (package python3-pip)"
    exit 77
fi

# What a user does first; says from where the package and the library come.
use='import os, tern
from tern import _library
_library.lib()
path = next(line.split()[-1] for line in open("/proc/self/maps") if "/libtern." in line)
print(os.path.dirname(tern.__file__), path, tern.__version__)'
# used PACKAGE_FOLDER LIBRARY COMMAND...
used() {
    local package=$1 library=$2 said
    shift 2
    said=$("$@" -c "$use") || die "$*: the package cannot be used"
    [ "$said" = "$package $(realpath "$library") $version" ] || die "$*: used $said"
}
version=$("$tern" --version | cut -d ' ' -f 2)

# pip_does FOR ARGUMENTS...: pip for another Python, quietly.
pip_does() {
    "$python" -m pip --python "$1" "${@:2}" >log 2>&1 || die "pip ${*:2}: $(cat log)"
}

# From a copy of the source tree, so that pip leaves nothing in it.
cp -r "$root/python" copy
"$python" -m venv --system-site-packages --without-pip venv
pip_does venv/bin/python install ./copy
site=$(venv/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
used "$site/tern" "$build/lib/libtern.so" env TERN_LIBRARY="$build/lib/libtern.so" venv/bin/python
used "$site/tern" "$build/lib/libtern.so.0" env LD_LIBRARY_PATH="$build/lib" venv/bin/python
[ -f "$site/tern/py.typed" ] || die "py.typed is not installed"
pip_does venv/bin/python uninstall -y tern
[ ! -e "$site/tern" ] || die "pip uninstall has left $site/tern"

# Editable: the folder itself.
pip_does venv/bin/python install -e ./copy
used "$dir/copy/tern" "$build/lib/libtern.so" env TERN_LIBRARY="$build/lib/libtern.so" \
    venv/bin/python

# From an installed tern, whose library is found without any variable.
prefix=$dir/prefix
"$root/contrib/install.sh" "$build" "$prefix" >log || die "install.sh failed: $(cat log)"
package=$(dirname "$(find "$prefix" -name pyproject.toml)")
library=$(find "$prefix" -name libtern.so.0)
used "$package/tern" "$library" env PYTHONPATH="$package" "$python"
# The example runner of that: command, headers, and the files that pages are made of.
cp -r "$root/examples/folders" folders
env -u LD_LIBRARY_PATH XDG_CACHE_HOME="$dir/cache" TERN_PYTHON="$python" TERN_TIMEOUT=30 \
    "$prefix/bin/tern" example run --nranks 2 --timeline page.html \
    -k folders/treduce_distributed/host_build_graph -g folders/treduce_distributed/golden.py \
    >log 2>&1 && grep -q '^TEST PASSED' log && [ -s page.html ] ||
    die "an installed tern does not run a folder: $(tail log)"
pip_does "$python" install --no-deps --target target "$package"
used "$dir/target/tern" "$library" env PYTHONPATH="$dir/target" "$python"
[ -z "$(find "$package" -name 'test*')" ] || die "tests are installed"

# A library of another version is refused before it is used.
sed -i 's/^VERSION = .*/VERSION = "98.76.54"/' target/tern/_version.py
! PYTHONPATH=$dir/target "$python" -c "$use" >log 2>&1 || die "a library of another version is used"
grep "98.76.54" log | grep -qF "$library" || die "it does not say which versions: $(tail -3 log)"

# What Python made of the modules goes with them.
[ -d "$package/tern/__pycache__" ] || die "nothing was compiled, so this proves nothing"
"$root/contrib/install.sh" --uninstall "$prefix" >log
[ ! -e "$prefix" ] || die "uninstalling has left $(find "$prefix" | head -3)"
echo "python_install.sh: pip, PYTHONPATH and uninstalling work"
