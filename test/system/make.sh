#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 60
# What somebody sees who types make: which tools are missing, and how far a long build is.
source "$(dirname "$0")/../support/shell.sh"
# A machine that has a shell, cc and pkg-config, and no cmocka.
for tool in bash env cc pkg-config; do
    path=$(command -v "$tool") || { echo "skipped: $tool is not installed"; exit 77; }
    ln -s "$path" "$dir/$tool"
done
! PATH=$dir PKG_CONFIG_LIBDIR=$dir "$root/contrib/deps.sh" --check 2>"$dir/said" ||
    die "nothing is missing where nearly everything is"
wanted="The build needs what is not installed: c++ (package g++), cmake (package cmake), ninja (package"
wanted+=" ninja-build), python3 (package python3), cmocka (package libcmocka-dev). 'make deps' installs it."
[ "$(<"$dir/said")" = "$wanted" ] || die "said: $(<"$dir/said")"

# 200 steps with a warning among them: ten lines and the warning; a short build: nothing.
steps() {
    local i
    for ((i = 1; i <= $1; i++)); do
        echo "[$i/$1] Building C object $i.o"
        [ "$i" -ne 150 ] || printf 'x.c:1: warning: what\n[ 3 ] is not progress\n'
    done
}
said=$(steps 200 | awk -f "$root/contrib/progress.awk")
[ "$(grep -c '^building: [0-9]* of 200 steps$' <<<"$said")" -eq 10 ] || die "progress: $said"
[ "$(wc -l <<<"$said")" -eq 12 ] || die "not 10 lines and 2 of a warning: $said"
said=$(steps 20 && echo 'ninja: no work to do.')
[ -z "$(awk -f "$root/contrib/progress.awk" <<<"$said")" ] || die "a short build is not silent"
echo "make.sh: missing tools are named, progress is shown"
