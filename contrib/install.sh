#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs a finished build, and takes away exactly what it has installed:
#   contrib/install.sh BUILD PREFIX
#   contrib/install.sh --uninstall PREFIX
# PREFIX/share/tern/installed lists the files, and (with a slash at the end) the folders that were not
# there before; a second install adds to it. DESTDIR in the environment is put before PREFIX, as usual.
set -euo pipefail

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

[ $# -eq 2 ] || fail "usage: install.sh BUILD PREFIX, or install.sh --uninstall PREFIX"
prefix=$(realpath -m -- "$2")
root=${DESTDIR:-}
list=$prefix/share/tern/installed

# What make must be given to mean this place, quoted for a shell.
variables() {
    [ -z "$root" ] || printf 'DESTDIR=%q ' "$root"
    printf 'PREFIX=%q' "$prefix"
}

# The folders from PREFIX down to a file's that do not exist yet, the highest first.
missing_folders() {
    local folder=$1
    [ -d "$root$folder" ] || {
        [ "$folder" = "$prefix" ] || [ "$folder" = / ] || missing_folders "$(dirname "$folder")"
        echo "$folder/"
    }
}

install() {
    local build=$1 new
    [ -f "$build/cmake_install.cmake" ] || fail "$build is not a finished build: make build"
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT # scratch is not local: the trap outlives this function
    new=$scratch/installed
    # First into an empty place, to learn what there will be.
    DESTDIR=$scratch/stage cmake --install "$build" --prefix "$prefix" >"$scratch/log" ||
        fail "cmake --install failed"
    {
        (cd "$scratch/stage" && find . ! -type d -printf '/%P\n')
        echo "$list"
    } >"$new.files"
    (cd "$scratch/stage" && find . -type d -printf '/%P\n') | grep "^$prefix" >"$new.folders" || true
    while read -r folder; do
        missing_folders "$folder"
    done < <(cat "$new.folders" && dirname "$list") >"$new.made"
    cat "$new.files" "$new.made" >"$new"
    [ ! -f "$root$list" ] || cat "$root$list" >>"$new"
    cmake --install "$build" --prefix "$prefix" >"$scratch/log" ||
        fail "cannot install to $root$prefix (see above); another place: make install PREFIX=…"
    mkdir -p "$root$(dirname "$list")"
    LC_ALL=C sort -u "$new" >"$root$list"
    chmod 644 "$root$list"
    echo "installed to $root$prefix; to take it away: make uninstall $(variables)"
}

# What Python has made of a module while it was used.
drop_compiled() {
    [ -d "$1" ] || return 0
    rm -f -- "$1/${2%.py}".*.pyc
    rmdir -- "$1" 2>/dev/null || true
}

uninstall() {
    local path count=0
    [ -f "$root$list" ] || fail "$root$list is not there: no tern was installed with" \
        "'make install $(variables)'"
    # Children come after their folders in the list, so backwards. Folders go only when empty.
    while read -r path; do
        case $path in
        */../* | */.. | */./*) fail "$root$list is damaged: it names $path" ;;
        "$prefix"/ | "$prefix"/*/) rmdir -- "$root${path%/}" 2>/dev/null || true ;;
        "$prefix"/*)
            if [ -e "$root$path" ] || [ -L "$root$path" ]; then
                rm -f -- "$root$path"
                count=$((count + 1))
            fi
            [[ $path != *.py ]] || drop_compiled "$root${path%/*}/__pycache__" "${path##*/}"
            ;;
        *) fail "$root$list is damaged: it names $path, outside $prefix" ;;
        esac
    done < <(LC_ALL=C sort -r "$root$list")
    echo "removed $count files from $root$prefix"
}

if [ "$1" = --uninstall ]; then
    uninstall
else
    install "$1"
fi
