#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# contrib/tidy.py says nothing about a small tree that keeps the rules, and the right sentence about each
# that breaks one.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

die() {
    echo "tidy.sh: $*" >&2
    exit 1
}

# Writes a file of the tree: its path, then its lines after the licence.
put() {
    local path=$dir/tree/$1
    shift
    mkdir -p "$(dirname "$path")"
    { echo '// SPDX-License-Identifier: Apache-2.0'; printf '%s\n' "$@"; } >"$path"
}

header() {
    local path=$1 guard=TERN_$2_H
    shift 2
    put "$path" "#ifndef $guard" "#define $guard" "$@" '#endif'
}

small_tree() {
    rm -rf "$dir/tree"
    mkdir -p "$dir/tree/contrib/rules"
    cp "$root/contrib/tidy.py" "$dir/tree/contrib"
    cp "$root"/contrib/rules/*.py "$dir/tree/contrib/rules"
    printf 'low:\nhigh: low\nfaces:\ncli:\n' >"$dir/tree/contrib/layers.txt"
    : >"$dir/tree/contrib/todo.txt"
    header include/tern/tern.h TERN 'struct tern_thing {' '    int a;' '};'
    header src/low/low.h LOW 'struct tern__low {' '    int a;' '};'
    header src/high/high.h HIGH '#include "low/low.h"' 'struct tern__high {' '    int a;' '};'
    put src/high/high.c '#include "high/high.h"' 'struct own {' '    int a;' '};'
}

tidy() {
    python3 "$dir/tree/contrib/tidy.py" 2>&1
}

# The one finding that the tree as it is now has, then a fresh tree.
expect() {
    local said
    said=$(tidy) && die "no finding, expected: $*"
    [ "$(grep -c -v '^tidy: ' <<<"$said")" = 1 ] || die "expected '$*' alone, not: $said"
    grep -qF -- "$*" <<<"$said" || die "expected '$*', not: $said"
    small_tree
}

small_tree
said=$(tidy) || die "a tree that keeps the rules: $said"

put src/low/up.c '#include "high/high.h"'
expect 'src/low/up.c:2: low may not include high/high.h: contrib/layers.txt gives it no high'

header include/tern/new.h NEW 'int tern_new(void);'
expect 'tern.h:1: lacks tern/new.h'

header src/low/other.h OTHER 'struct tern__high {' '    int b;' '};'
expect "src/low/other.h:4: with all headers of src in one file: redefinition of"

header src/low/other.h LOW
expect 'src/low/other.h:1: TERN_LOW_H is already the guard of src/low/low.h'

put src/low/low.c 'struct tern__high {' '    int a;' '};'
expect 'src/low/low.c:2: tern__high is already a tag of src/high/high.h'

# A declaration that is repeated instead of included: the objects show what is needed.
compile() {
    local object=$dir/tree/build/release/CMakeFiles/tern_objects.dir/src/$1.o
    mkdir -p "$(dirname "$object")"
    "${CC:-cc}" -I"$dir/tree/src" -c "$dir/tree/src/$1" -o "$object"
}
put src/high/high.c 'int tern_high(void) {' '    return 1;' '}'
put src/low/low.c 'int tern_high(void);' 'int tern_low(void);' 'int tern_low(void) {' \
    '    return tern_high();' '}'
compile high/high.c
compile low/low.c
expect 'src/low/low.c:1: needs tern_high of src/high/high.c: contrib/layers.txt gives low no high'

put src/high/high.c 'int tern_back(void);' 'int tern_high(void);' 'int tern_high(void) {' \
    '    return tern_back();' '}'
put src/high/back.c 'int tern_high(void);' 'int tern_back(void);' 'int tern_back(void) {' \
    '    return tern_high();' '}'
compile high/high.c
compile high/back.c
expect 'src/high/back.c:1: calls and is called by high.c: calls between the files of a floor go one way'

put src/low/low.c '// Data path: no lock, no allocation.' '' '#include <stdlib.h>' 'void *tern_low(void);' \
    'void *tern_low(void) {' '    return malloc(1);' '}'
compile low/low.c
expect 'src/low/low.c:1: says that it does without any allocation, and needs malloc'

put src/low/low.c "// $(printf 'word %.0s' {1..20})"
expect 'src/low/low.c:2: 103 columns; 100 is the limit'

put src/low/test/low.c '// ctest-machines: 2' 'int low(void) {' '    return tern_init_at(0);' '}'
expect 'src/low/test/low.c:4: is on one machine; ranks_join is where ctest-machines says'

put src/low/low.c '// Made by gone.c, read by high/high.h and low/never.h.'
said=$(tidy) && die "no finding about files that there are not"
grep -qF 'low.c:2: there is no gone.c' <<<"$said" || die "expected a word on gone.c, not: $said"
grep -qF 'low.c:2: there is no low/never.h' <<<"$said" || die "no word on low/never.h: $said"
small_tree
