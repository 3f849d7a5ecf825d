#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 240
#
# Installs into a fresh prefix and uses it as a stranger would: a C and a C++ program through
# pkg-config, each with a tern header and a face, a CMake project through find_package, and each of
# the examples: as a CMake project of its own, and the plain ones with one line of cc. Then
# uninstalls: what was there before stays, and nothing else.
source "$(dirname "$0")/../support/shell.sh"
for tool in cmake pkg-config cc c++; do
    if ! command -v "$tool" >/dev/null; then
        echo "skipped: $tool is not installed"
        exit 77
    fi
done

prefix=$dir/prefix

# Into a prefix where somebody else has files, one of them in a folder of ours.
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/include/tern" "$prefix/lib/empty"
touch "$prefix/bin/other" "$prefix/include/tern/other.h"
(cd "$prefix" && find . | LC_ALL=C sort) >"$dir/before"
install=$root/contrib/install.sh
"$install" "$build" "$prefix" >"$dir/log" || die "install.sh failed"
"$install" "$build" "$prefix" >"$dir/log" || die "installing again failed"
pc=$(find "$prefix" -name tern.pc)
[ -n "$pc" ] || die "no tern.pc was installed"
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=$libdir/pkgconfig
for file in "$prefix/bin/tern" "$libdir/libtern.a" "$libdir/libtern.so.0" \
    "$prefix/include/tern/comm.h" "$prefix/include/tern-faces/comm.h" \
    "$prefix/share/man/man1/tern.1" "$prefix/share/doc/tern/api.html" "$prefix/share/bash-completion/completions/tern"; do
    [ -e "$file" ] || die "${file#"$prefix"/} was not installed"
done
[ "$(pkg-config --variable=faces_includedir tern | xargs realpath)" = \
    "$(realpath "$prefix/include/tern-faces")" ] || die "faces_includedir points elsewhere"

# The page of the interface has every public function.
page=$prefix/share/doc/tern/api.html
while read -r name; do
    grep -q "<a id=\"$name\">" "$page" || die "api.html lacks $name"
done < <(cat "$prefix"/include/tern/*.h | tr '\n' ' ' |
    grep -oE '\<TERN_(API|CALL) [^;(]*\(' | grep -oE 'tern_[a-z0-9_]+\($' | tr -d '(' | sort -u)

# Linking with --no-as-needed makes the run prove that the library is found and loads.
cat >"$dir/use.c" <<'EOF'
#include <tern/comm.h>
#include "comm.h"
#include <stdio.h>
int main(void)
{
    puts("used");
    return 0;
}
EOF
cp "$dir/use.c" "$dir/use.cpp"

run_and_expect() {
    local said
    said=$("$@") || die "$1 failed"
    [ "$said" = used ] || die "$1 said '$said'"
}

read -ra flags <<<"$(pkg-config --cflags --libs tern)"
common=(-Wall -Wextra -Werror -Wl,--no-as-needed "-Wl,-rpath,$libdir")
cc -std=gnu17 "$dir/use.c" "${common[@]}" "${flags[@]}" -o "$dir/use_c" || die "C does not build"
c++ -std=gnu++17 "$dir/use.cpp" "${common[@]}" "${flags[@]}" -o "$dir/use_cpp" ||
    die "C++ does not build"
run_and_expect "$dir/use_c"
run_and_expect "$dir/use_cpp"

# A program of HCCL, as its Makefile links it, finds the vendor's names only where it is told to look.
cat >"$dir/face.c" <<'EOF'
#include <stdio.h>
#include "acl/acl.h"
#include "hccl/hccl.h"
int main(void)
{
    HcclRootInfo info;
    HcclComm comm;
    float in = 2, out = 0;
    if (aclrtSetDevice(0) != ACL_SUCCESS || HcclGetRootInfo(&info) != HCCL_SUCCESS ||
        HcclCommInitRootInfo(1, &info, 0, &comm) != HCCL_SUCCESS ||
        HcclAllReduce(&in, &out, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, NULL) !=
            HCCL_SUCCESS ||
        HcclCommDestroy(comm) != HCCL_SUCCESS || out != in) {
        return 1;
    }
    puts("used");
    return 0;
}
EOF
faces=$(pkg-config --variable=hccl_libdir tern)
[ "$(realpath "$faces")" = "$(realpath "$libdir/tern/hccl-face")" ] || die "hccl_libdir is '$faces'"
[ -z "$(find "$libdir" -maxdepth 1 \( -name 'libhc*' -o -name 'libascend*' \))" ] ||
    die "vendors' names are among the public libraries"
read -ra includes <<<"$(pkg-config --cflags tern)"
for library in hccl hcomm; do
    link=(cc "$dir/face.c" "${includes[@]}" -L"$faces" -l$library -lascendcl -o "$dir/face")
    "${link[@]}" || die "a program does not link with -l$library"
    ! "$dir/face" >"$dir/log" 2>&1 || die "lib$library is found where nobody looks"
    run_and_expect env LD_LIBRARY_PATH="$faces" "$dir/face"
    "${link[@]}" -Wl,-rpath,"$faces" || die "a program does not link with -l$library and -rpath"
    run_and_expect "$dir/face"
done

cat >"$dir/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.24)
project(consumer LANGUAGES C CXX)
find_package(tern 0.1 REQUIRED)
add_executable(shared use.c)
target_link_libraries(shared PRIVATE tern::tern)
add_executable(static use.cpp)
target_link_libraries(static PRIVATE tern::tern_static)
EOF
{
    cmake -S "$dir" -B "$dir/b" "-DCMAKE_PREFIX_PATH=$prefix" && cmake --build "$dir/b"
} >"$dir/log" 2>&1 || {
    cat "$dir/log"
    die "find_package(tern) does not work"
}
run_and_expect "$dir/b/shared"
run_and_expect "$dir/b/static"

# Compiling is what costs here.
printf '#!/bin/sh\nexec c++ "$@" -O0\n' >"$dir/c++-O0"
chmod +x "$dir/c++-O0"
export CXX=$dir/c++-O0

# The examples, from copies outside the tree, so that nothing of the tree can help them.
cp -r "$root/examples" "$dir/examples"
for example in "$dir"/examples/*/; do
    name=$(basename "$example")
    [ -f "$example/CMakeLists.txt" ] || continue
    if [ "$name" = tp_ffn ] && ! pkg-config --exists openblas; then
        continue
    fi
    {
        cmake -S "$example" -B "$dir/$name" "-DCMAKE_PREFIX_PATH=$prefix" && cmake --build "$dir/$name"
    } >"$dir/log" 2>&1 || {
        cat "$dir/log"
        die "the example $name does not build outside the tree"
    }
done
cc "$dir/examples/ring/main.c" "${flags[@]}" -Wl,-rpath,"$libdir" -o "$dir/ring/by_cc"
for ring in "$dir/ring/ring" "$dir/ring/by_cc"; do
    [ "$("$prefix/bin/tern" run -n 3 "$ring")" = "the token went around 3 ranks 100 times" ] ||
        die "$ring fails"
done
[ "$("$dir/comm_allreduce/comm_allreduce" 3)" = "3 ranks have the same sum" ] ||
    die "comm_allreduce fails outside the tree"
expect 0 "verified" "$prefix/bin/tern" run -n 3 "$dir/patterns/pattern_all_reduce"
touch "$dir/examples/patterns/phase_barrier.hpp"
expect 0 "Compiling kernels pattern_all_reduce" cmake --build "$dir/patterns"

loaded=$(ldd "$prefix/bin/tern" | sed -n 's/.*libtern\.so\.0 => \(\S*\).*/\1/p')
[ "$(realpath -m "$loaded")" = "$(realpath "$libdir/libtern.so.0")" ] ||
    die "the installed tern loads '$loaded'"
"$install" --uninstall "$prefix" >"$dir/log" || die "install.sh --uninstall failed"
(cd "$prefix" && find . | LC_ALL=C sort) | diff "$dir/before" - ||
    die "uninstalling has left (>) or taken (<) these"
! "$install" --uninstall "$prefix" 2>"$dir/log" || die "nothing could be uninstalled twice"
grep -q "no tern was installed" "$dir/log" || die "uninstalling twice does not say why"
"$install" "$build" "$dir/fresh/prefix" >"$dir/log" && "$install" --uninstall "$dir/fresh/prefix" \
    >"$dir/log"
[ ! -e "$dir/fresh/prefix" ] || die "a prefix that was made is left"
DESTDIR=$dir/dest "$install" "$build" /opt/t >"$dir/log"
[ -x "$dir/dest/opt/t/bin/tern" ] || die "DESTDIR is not respected"
[ "$(cat "$dir/log")" = "installed to $dir/dest/opt/t; to take it away: make uninstall DESTDIR=$dir/dest PREFIX=/opt/t" ] ||
    die "what takes it away is not said: $(cat "$dir/log")"
"$install" "$build" "$dir/with space" >"$dir/log"
said=$(sed -n 's/.*to take it away: make uninstall //p' "$dir/log")
[ "$(eval "printf %s $said")" = "PREFIX=$dir/with space" ] ||
    die "a prefix with a space is not quoted: $said"
"$install" --uninstall "$dir/with space" >"$dir/log"
DESTDIR=$dir/dest "$install" --uninstall /opt/t >"$dir/log"
[ ! -e "$dir/dest/opt/t" ] || die "DESTDIR is not respected by --uninstall"

echo "install.sh: C, C++ and CMake consumers build and run"
