#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ctest-timeout: 60
# Every command that `tern --help` names has a manual page with all of its options, that formats
# without a warning; and bash completes commands, options and words as they are.
source "$(dirname "$0")/../support/shell.sh"
export PATH=$build/bin:$PATH TERN_TUNE=''

failed=0
bad() {
    echo "commands.sh: $*" >&2
    failed=1
}

commands=$(tern --help | sed -n 's/^  \([a-z]\+\)  .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 7 ] || bad "tern --help lists: $commands"

# The words of a page, without its markup.
plain() {
    sed -e 's/^\.[A-Z]\+ //' -e 's/\\f[BIPR]//g' -e 's/\\-/-/g' -e 's/\\&//g' "$1" | tr -s '" ' '  '
}

for page in "$root/man/tern.1" $(sed "s|\(.*\)|$root/man/tern-\1.1|" <<<"$commands"); do
    [ -f "$page" ] || { bad "there is no ${page#"$root"/}"; continue; }
    name=$(basename "$page" .1)
    plain "$page" >text
    read -ra command <<<"${name/-/ }"
    "${command[@]}" --help >help
    for option in $(grep -oE '(^ +|, |\[|\| )--?[a-zA-Z][a-z-]*' help | grep -oE -- '-.*' | sort -u); do
        grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" text || bad "man/$name.1 lacks $option"
    done
    if command -v groff >/dev/null; then
        groff -man -Tutf8 -ww -z "$page" >warnings 2>&1 || true
        [ ! -s warnings ] || bad "man/$name.1: $(head -2 warnings)"
    fi
    [ "$name" = tern ] || grep -q "tern-${name#tern-}" <(plain "$root/man/tern.1") ||
        bad "man/tern.1 lacks $name"
done

# The runner of example folders is Python, and needs NumPy.
if tern example run --help >help 2>said; then
    plain "$root/man/tern-example.1" >text
    for option in $(grep -oE -- '(^ +|, |\[|\| )--?[a-zA-Z][a-z-]*' help | grep -oE -- '-.*' | sort -u); do
        grep -qE -- "(^|[^a-z-])$option([^a-z-]|\$)" text || bad "man/tern-example.1 lacks $option"
    done
fi

# completes WORDS...: what bash offers for the last of them, on one line
source "$root/contrib/completion/tern.bash"
completes() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _tern
    tr '\n' ' ' < <(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort)
}
expect() {
    local wanted=$1 got
    shift
    got=$(completes "$@")
    [ "$got" = "$wanted " ] || bad "completing '$*' offers '$got', not '$wanted'"
}
got=$(completes tern "")
for command in $commands; do
    [[ " $got" == *" $command "* ]] || bad "completing 'tern' does not offer $command"
done
expect "perf plan" tern p
expect "all_gather all_reduce all_to_all" tern plan all_
expect "--topo" tern plan all_reduce --to
expect "mesh:" tern check x.plan --topo me
expect "cut_optimal cut_owners cut_relay cut_small" tern plan all_reduce --algo cut_
expect "direct one optimal pull ring" tern plan all_gather --algo ""
expect "direct one pull" tern perf -p 2 all_to_all_v --algo ""
expect "pull push" tern perf --algo pu
expect "max min prod sum" tern exec a.plan --op ""
[ "$(completes tern perf - | tr ' ' '\n' | grep -cxE -- '-[gt]')" -eq 0 ] || bad "perf has neither -g nor -t"
expect "core none" tern run --bind ""
expect "fused,one_shot" tern perf all_reduce --algo fused,one_sh
expect "bf16 bool" tern perf all_reduce -d b
expect "maxloc" tern perf all_reduce -o maxl
expect "send_recv" tern perf send
expect "all_gather all_reduce all_to_all" tern sim all_
expect "--timeout" tern run -n 2 --timeo
touch a.plan program.x
mkdir a.folder
expect "a.folder" tern run --output a.
expect "run" tern example r
expect "a.folder" tern example run -k a.
expect "a.folder a.plan" tern example run -k a.folder -g a.
expect "a2a3 a2a3sim" tern example run -p a2
expect "a.plan" tern check a.pl
expect "program.x" tern run -n 2 --label program.
expect "a.folder a.plan" tern run -n 2 ./program a.
expect "program.x" tern run -n 2 -- program.
[ "$(completes tern run -n 2 ./program --l)" = " " ] || bad "the program of tern run is offered --label"
expect "a.folder a.plan" tern run -n 2 ./program --topo a.
[ "$(completes tern run -n "")" = " " ] || bad "completing a number offers something"

tern info --words kinds | grep -qx all_to_all_v || bad "tern info --words kinds lacks all_to_all_v"
! tern info --words nonsense 2>said || bad "tern info --words takes anything"
grep -q "no list 'nonsense', but kinds," said || bad "no word on which lists there are"

[ "$failed" -eq 0 ] || exit 1
echo "commands.sh: $(wc -w <<<"$commands") commands have pages and complete"
