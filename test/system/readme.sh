#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 120
# The program that README.md shows compiles as it stands there, in C and in C++, with the commands shown
# there, against an installed tern; run on 3 ranks it prints the lines shown there, in any order.
source "$(dirname "$0")/../support/shell.sh"
for tool in cmake pkg-config cc c++; do
    command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done

export HOME=$dir

# The code block of README.md that contains the words.
block() {
    awk -v words="$1" '
        /^```/ { inside = !inside
                 if (!inside && found) { printf "%s", text; exit }
                 text = ""; next }
        inside { text = text $0 "\n"; if (index($0, words)) found = 1 }' "$root/README.md"
}

block '#include <tern/tern.h>' >hello.c
block '$ make install' >session
lines=$(wc -l <hello.c)
[ "$lines" -ge 10 ] && [ "$lines" -le 25 ] || die "the program has $lines lines, not 10 to 25"

# The commands are run as shown; the tree that is tested takes the place of `make install`.
cmake --install "$build" --prefix "$HOME/tern" >log || die "cmake --install failed"
sed -n 's/^\$ //p' session | sed '/^make install PREFIX=\$HOME\/tern$/d' >commands
[ "$(grep -c . commands)" -lt "$(grep -c '^\$' session)" ] || die "README.md installs elsewhere"
grep -v '^\$' session | LC_ALL=C sort >expected
unset PKG_CONFIG_PATH LD_LIBRARY_PATH
bash -e commands >said 2>errors || { cat errors; die "the commands of README.md failed"; }
[ ! -s errors ] || { cat errors; die "the commands of README.md print errors"; }
LC_ALL=C sort said | diff expected - || die "README.md shows other lines (<) than were printed (>)"

# The same program with all warnings, and in C++; without the launcher it is a job of one rank.
export PKG_CONFIG_PATH=$HOME/tern/lib/pkgconfig LD_LIBRARY_PATH=$HOME/tern/lib
read -ra flags <<<"$(pkg-config --cflags --libs tern)"
cp hello.c hello.cpp
cc -std=gnu17 -Wall -Wextra -Wconversion -Werror hello.c "${flags[@]}" -o strict
c++ -std=gnu++17 -Wall -Wextra -Werror hello.cpp "${flags[@]}" -o plus
"$HOME/tern/bin/tern" run -n 3 ./plus | LC_ALL=C sort | diff expected - || die "C++ says something else"
[ "$(./strict)" = "rank 0 of 1: the sums are 1.5 and 0" ] || die "alone it says '$(./strict)'"

# A call that fails is one sentence, as tern_last_error() has it.
TERN_LOG=off TERN_ALGO=cut_small "$HOME/tern/bin/tern" run -n 2 ./strict >said 2>errors &&
    die "cut_small works with two ranks"
grep -q '^cut_small cannot do this all_reduce: it needs 4 ranks' errors ||
    { cat errors; die "the program does not say what failed"; }
echo "readme.sh: the program of README.md compiles, runs and prints what is shown"
