#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs into a fresh prefix and uses it as a stranger would: a C and a C++ program through
# pkg-config, each with a tern header and a face, a CMake project through find_package, and each of
# the examples: as a CMake project of its own, and the plain ones with one line of cc. Then
# uninstalls: what was there before stays, and nothing else.
set -euo pipefail

build=${TERN_BUILD_DIR:?the folder of a finished build}
for tool in cmake pkg-config cc c++; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done

work=$(mktemp -d "${TMPDIR:-/tmp}/tern-install.XXXXXX")
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# Into a prefix where somebody else has files, one of them in a folder of ours.
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/include/tern" "$prefix/lib/empty"
touch "$prefix/bin/other" "$prefix/include/tern/other.h"
(cd "$prefix" && find . | LC_ALL=C sort) >"$work/before"
install=$(cd "$(dirname "$0")/../.." && pwd)/contrib/install.sh
"$install" "$build" "$prefix" >"$work/log" || fail "install.sh failed"
"$install" "$build" "$prefix" >"$work/log" || fail "installing again failed"
pc=$(find "$prefix" -name tern.pc)
[ -n "$pc" ] || fail "no tern.pc was installed"
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=$libdir/pkgconfig
for file in "$prefix/bin/tern" "$libdir/libtern.a" "$libdir/libtern.so.0" \
    "$prefix/include/tern/comm.h" "$prefix/include/tern-faces/comm.h" \
    "$prefix/share/man/man1/tern.1" "$prefix/share/doc/tern/api.html" "$prefix/share/bash-completion/completions/tern"; do
    [ -e "$file" ] || fail "${file#"$prefix"/} was not installed"
done
[ "$(pkg-config --variable=faces_includedir tern | xargs realpath)" = \
    "$(realpath "$prefix/include/tern-faces")" ] || fail "faces_includedir points elsewhere"

# The page of the interface has every public function.
page=$prefix/share/doc/tern/api.html
while read -r name; do
    grep -q "<a id=\"$name\">" "$page" || fail "api.html lacks $name"
done < <(cat "$prefix"/include/tern/*.h | tr '\n' ' ' |
    grep -oE '\<TERN_(API|CALL) [^;(]*\(' | grep -oE 'tern_[a-z0-9_]+\($' | tr -d '(' | sort -u)

# Linking with --no-as-needed makes the run prove that the library is found and loads.
cat >"$work/use.c" <<'EOF'
#include <tern/comm.h>
#include "comm.h"
#include <stdio.h>
int main(void)
{
    puts("used");
    return 0;
}
EOF
cp "$work/use.c" "$work/use.cpp"

run_and_expect() {
    local said
    said=$("$@") || fail "$1 failed"
    [ "$said" = used ] || fail "$1 said '$said'"
}

read -ra flags <<<"$(pkg-config --cflags --libs tern)"
common=(-Wall -Wextra -Werror -Wl,--no-as-needed "-Wl,-rpath,$libdir")
cc -std=gnu17 "$work/use.c" "${common[@]}" "${flags[@]}" -o "$work/use_c" || fail "C does not build"
c++ -std=gnu++17 "$work/use.cpp" "${common[@]}" "${flags[@]}" -o "$work/use_cpp" ||
    fail "C++ does not build"
run_and_expect "$work/use_c"
run_and_expect "$work/use_cpp"

cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.24)
project(consumer LANGUAGES C CXX)
find_package(tern 0.1 REQUIRED)
add_executable(shared use.c)
target_link_libraries(shared PRIVATE tern::tern)
add_executable(static use.cpp)
target_link_libraries(static PRIVATE tern::tern_static)
EOF
{
    cmake -S "$work" -B "$work/b" "-DCMAKE_PREFIX_PATH=$prefix" && cmake --build "$work/b"
} >"$work/log" 2>&1 || {
    cat "$work/log"
    fail "find_package(tern) does not work"
}
run_and_expect "$work/b/shared"
run_and_expect "$work/b/static"

# The examples, from copies outside the tree, so that nothing of the tree can help them.
cp -r "$(cd "$(dirname "$0")/../.." && pwd)/examples" "$work/examples"
for dir in "$work"/examples/*/; do
    name=$(basename "$dir")
    if [ "$name" = tp_ffn ] && ! pkg-config --exists openblas; then
        continue
    fi
    {
        cmake -S "$dir" -B "$work/$name" "-DCMAKE_PREFIX_PATH=$prefix" && cmake --build "$work/$name"
    } >"$work/log" 2>&1 || {
        cat "$work/log"
        fail "the example $name does not build outside the tree"
    }
done
cc "$work/examples/ring/main.c" "${flags[@]}" -Wl,-rpath,"$libdir" -o "$work/ring/by_cc"
for ring in "$work/ring/ring" "$work/ring/by_cc"; do
    [ "$("$prefix/bin/tern" run -n 3 "$ring")" = "the token went around 3 ranks 100 times" ] ||
        fail "$ring fails"
done
[ "$("$work/comm_allreduce/comm_allreduce" 3)" = "3 ranks have the same sum" ] ||
    fail "comm_allreduce fails outside the tree"

loaded=$(ldd "$prefix/bin/tern" | sed -n 's/.*libtern\.so\.0 => \(\S*\).*/\1/p')
[ "$(realpath -m "$loaded")" = "$(realpath "$libdir/libtern.so.0")" ] ||
    fail "the installed tern loads '$loaded'"
"$install" --uninstall "$prefix" >"$work/log" || fail "install.sh --uninstall failed"
(cd "$prefix" && find . | LC_ALL=C sort) | diff "$work/before" - ||
    fail "uninstalling has left (>) or taken (<) these"
! "$install" --uninstall "$prefix" 2>"$work/log" || fail "nothing could be uninstalled twice"
grep -q "no tern was installed" "$work/log" || fail "uninstalling twice does not say why"
"$install" "$build" "$work/fresh/prefix" >"$work/log" && "$install" --uninstall "$work/fresh/prefix" \
    >"$work/log"
[ ! -e "$work/fresh/prefix" ] || fail "a prefix that was made is left"
DESTDIR=$work/dest "$install" "$build" /opt/t >"$work/log"
[ -x "$work/dest/opt/t/bin/tern" ] || fail "DESTDIR is not respected"
[ "$(cat "$work/log")" = "installed to $work/dest/opt/t; to take it away: make uninstall DESTDIR=$work/dest PREFIX=/opt/t" ] ||
    fail "what takes it away is not said: $(cat "$work/log")"
"$install" "$build" "$work/with space" >"$work/log"
said=$(sed -n 's/.*to take it away: make uninstall //p' "$work/log")
[ "$(eval "printf %s $said")" = "PREFIX=$work/with space" ] ||
    fail "a prefix with a space is not quoted: $said"
"$install" --uninstall "$work/with space" >"$work/log"
DESTDIR=$work/dest "$install" --uninstall /opt/t >"$work/log"
[ ! -e "$work/dest/opt/t" ] || fail "DESTDIR is not respected by --uninstall"

echo "install.sh: C, C++ and CMake consumers build and run"
