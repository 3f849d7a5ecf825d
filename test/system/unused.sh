#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A status that nobody looks at is warned about: by each compiler there is, in C and C++, for a call of
# every sort; and not where tern_status_ignore says that it does not matter. Every function of the
# headers that returns an int is either marked so or one of those that destroy or return a number.
source "$(dirname "$0")/../support/shell.sh"
cat >"$dir/ignores.c" <<'EOT'
#include <tern/coll.h>
#include <tern/put.h>
void f(tern_comm *comm, tern_window *window, void *out, tern_request *request);
void f(tern_comm *comm, tern_window *window, void *out, tern_request *request)
{
    tern_all_reduce(comm, out, out, 1, TERN_F32, TERN_SUM);
    tern_put(window, 0, 0, out, 1);
    tern_request_test(request);
}
EOT
sed 's/^    \(tern_.*\);$/    tern_status_ignore(\1);/' "$dir/ignores.c" >"$dir/on_purpose.c"
for name in ignores on_purpose; do
    cp "$dir/$name.c" "$dir/$name.cpp"
done

tried=0
for compiler in "gcc -std=c17" "clang -std=c17" "g++ -std=c++17" "clang++ -std=c++17"; do
    read -ra command <<<"$compiler"
    command -v "${command[0]}" >/dev/null || continue
    ending=c
    [[ $compiler == *++* ]] && ending=cpp
    command+=(-Wall -Wextra "-I$root/include" -c -o "$dir/object")
    "${command[@]}" "$dir/ignores.$ending" 2>"$dir/said" || die "$compiler does not compile it"
    warned=$(grep -c 'warning: ignoring return value' "$dir/said") || true
    [ "$warned" = 3 ] || die "$compiler warns $warned times of 3: $(cat "$dir/said")"
    "${command[@]}" -Werror "$dir/on_purpose.$ending" || die "$compiler warns of what is ignored on purpose"
    tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || { echo "skipped: no compiler"; exit 77; }

unmarked=$(cat "$root"/include/tern/*.h | grep -o '^TERN_API int tern_[a-z_]*' |
    grep -Ev '_(destroy|release|free|rank|size|count|index)$|^TERN_API int tern_(memory_owner|tile_is_checked|kernel_(run|core|block|blocks|slot)|chip_(cores|code)|tune_print|tune_print_cost|topo_uses|cluster_(lane|vectors))$') || true
[ -z "$unmarked" ] || die "declared with TERN_API, not with TERN_CALL: $unmarked"
