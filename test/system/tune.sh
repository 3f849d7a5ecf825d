#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 180
# tern tune: what it writes is read by calls and by tern info; rows that were not measured stay; a file
# that cannot be read or written is left alone; wrong usage. Not what it finds: that is the machine's.
source "$(dirname "$0")/../support/shell.sh"
unset TERN_TUNE TERN_ALGO XDG_CONFIG_HOME
export HOME=$dir/home

# To standard output only: nothing is written anywhere.
"$tern" tune -p 2,3 --time 0.5 --output - all_reduce gather >printed 2>told
[ ! -e home ] || die "--output - has written a file"
[ "$(grep -c ' ranks ' printed)" -eq 4 ] || die "not four rows: $(cat printed)"
[ "$(grep -cE '^(all_reduce|gather), [23] ranks: ' told)" -eq 4 ] || die "told: $(cat told)"
TERN_TUNE=$dir/printed expect 0 "line 3 of $dir/printed" "$tern" info --algos -p 2 --kind all_reduce
TERN_TUNE=$dir/printed expect 0 "line 6 of $dir/printed" "$tern" info --algos -p 8 --kind gather

# Plans that are searched for are tried when somebody asks, and rows that name them are what calls run.
grep -q 'optimal was not tried: on one machine all links are alike; --optimal tries it' told || die "told: $(cat told)"
expect 2 "--output needs a value" "$tern" tune --output ""
expect 2 "--optimal is for one machine" "$tern" tune --hosts a:1,b:1 --optimal gather
expect 2 "--search takes a number of seconds, 1e-06 to 1000000, not 'soon'" "$tern" tune --search soon
if "$tern" plan gather --topo mesh:3 --bytes 6000 --algo optimal -o plan 2>said; then
    expect 0 "gather, 3 ranks: optimal is tried: it plans 4096 KiB in" \
        "$tern" tune -p 3 --time 0.1 --search 50 --output - gather
    ! grep -q 'was not tried' said || die "it was tried: $(cat said)"
    expect 0 "gather, 3 ranks: optimal is not tried: it does not plan 4096 KiB in 1e-06 s (--search)" \
        "$tern" tune -p 3 --time 0.1 --search 0.000001 --output - gather
    printf 'tern-tune 1\ngather ranks 3 small pull 4096 window optimal staged optimal 32768\n' >by_hand
    for window in yes no; do
        TERN_TUNE=by_hand expect 0 '"algo": "optimal"' \
            "$tern" perf gather -p 3 --sizes 100000 -n 2 --window $window --json
    done
else
    grep -q 'GLPK' said || die "$(cat said)"
fi

# Where it belongs, with the folders on the way; the environment does not get into what is measured.
TERN_ALGO=ring expect 0 "written to $HOME/.config/tern/tune" "$tern" tune -p 2 --time 0.2 broadcast
expect 0 "tune file   $HOME/.config/tern/tune" "$tern" info
expect 0 "line 3 of $HOME/.config/tern/tune" "$tern" info --algos -p 2 --kind broadcast
[ "$(ls -A "$HOME/.config/tern")" = tune ] || die "left behind: $(ls -A "$HOME/.config/tern")"
XDG_CONFIG_HOME=$dir/xdg expect 0 "written to $dir/xdg/tern/tune" "$tern" tune -p 2 --time 0.1 scatter

# Rows of other kinds and rank counts stay, those that are measured again are replaced.
cat >mine <<'END'
tern-tune 1
# by hand
gather ranks 2 small pull 12345 window direct staged pull 2048
scatter ranks 2 small direct 11 window direct staged direct 1024
scatter ranks 5 small direct 22 window direct staged direct 1024
END
expect 0 "written to mine" "$tern" tune -p 2 --time 0.2 --output mine scatter
grep -qx 'gather ranks 2 small pull 12345 window direct staged pull 2048' mine || die "$(cat mine)"
grep -qx 'scatter ranks 5 small direct 22 window direct staged direct 1024' mine || die "$(cat mine)"
[ "$(grep -c '^scatter ranks 2 ' mine)" -eq 1 ] || die "scatter is there twice: $(cat mine)"
if grep -q '^scatter ranks 2 small direct 11 ' mine; then
    die "scatter of 2 ranks was not replaced"
fi
[ "$(sed -n '/^[a-z]* ranks/p' mine | wc -l)" -eq 3 ] || die "not three rows: $(cat mine)"

# What ops cost, beside other rows, and once for a count of ranks.
expect 0 "written to mine" "$tern" tune -p 2,3 --time 0.1 --output mine costs
expect 0 "written to mine" "$tern" tune -p 3 --time 0.1 --output mine costs
grep -qx 'gather ranks 2 small pull 12345 window direct staged pull 2048' mine || die "$(cat mine)"
[ "$(grep -cE '^cost ranks [23] processors [12] begin [0-9]+ meet [0-9]+ op [0-9]+ post [0-9]+ wake [0-9]+$' mine)" \
    -eq 2 ] || die "no two costs: $(cat mine)"
[ "$(grep -cE '^rate [0-9]+ copy [0-9]+ fresh [0-9]+ reduce( [0-9]+){4}$' mine)" -ge 10 ] || die "no rates: $(cat mine)"
expect 2 "costs are those of one machine" "$tern" tune --hosts a:1,b:1 costs

# What cannot be read is not overwritten, what cannot be written is said.
echo 'gather ranks' >>mine
cp mine before
expect 1 "it is left as it is" "$tern" tune -p 2 --time 0.1 --output mine scatter
[ "$(wc -l <said)" -eq 1 ] || die "it has measured for a file that it does not write: $(cat said)"
cmp -s mine before || die "a damaged file was overwritten"
expect 1 "cannot write /proc/none/tune" "$tern" tune -p 2 --time 0.1 --output /proc/none/tune gather
expect 1 "cannot write none/tune: No such file or directory" "$tern" tune -p 2 --time 0.1 \
    --output none/tune gather
[ "$(wc -l <said)" -eq 1 ] || die "it has measured for a place that is not there: $(cat said)"
TERN_TUNE=$dir/none/tune expect 1 "No such file or directory" "$tern" tune -p 2 --time 0.1 gather
[ ! -e none ] || die "a folder was made on the way to --output or TERN_TUNE"

# All calls see the file.
printf 'tern-tune 1\nbarrier nonsense\n' >bad
${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$root/include" "$root/test/system/hang.c" -o hang \
    -L"$(dirname "$tern")/../lib" -ltern -Wl,-rpath,"$(cd "$(dirname "$tern")/../lib" && pwd)"
touch go
"$tern" run -n 2 ./hang || die "calls fail with the file: $?"
TERN_TUNE=mine expect 3 "mine:" "$tern" run -n 2 ./hang
TERN_TUNE=$dir/bad expect 3 "$dir/bad:2:9: expected 'ranks', not 'nonsense'" "$tern" run -n 2 ./hang

expect 2 "-p takes numbers of ranks from 2 to 64" "$tern" tune -p 1
expect 2 "-p takes numbers of ranks from 2 to 64" "$tern" tune -p 2,
expect 2 "-p takes numbers of ranks from 2 to 64" "$tern" tune -p 2,65
expect 2 "is no kind of collective" "$tern" tune all_redduce
expect 2 "barrier has nothing to select" "$tern" tune -p 2 --time 0.1 --output - barrier
expect 2 "--time takes a number of seconds, 0.001 to 1000000, not '-1'" "$tern" tune --time -1
expect 2 "there is no option '--fast'" "$tern" tune --fast
TERN_TUNE='' expect 2 "TERN_TUNE is empty; where to?" "$tern" tune
expect 2 "it starts its own ranks" "$tern" run -n 1 "$tern" tune --output -
echo "tern tune measures, keeps and writes"
