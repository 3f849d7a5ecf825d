# SPDX-License-Identifier: Apache-2.0
#
# Completion of `tern` for bash. Commands and options come from `tern --help` and `tern COMMAND --help`,
# words from `tern info --words`, so there is no second list to keep. Installed where bash-completion
# looks; or: source contrib/completion/tern.bash

# The options of a help text, one a line: from the lines that show usage and those that begin with one.
_tern_options() {
    "$@" --help 2>/dev/null | grep -E '^usage: |^ +tern |^  +-' | grep -oE '(^|[ [|,])--?[a-zA-Z][a-z-]*' | tr -d ' [|,' | sort -u
}

# Completes the last item of a list with commas from the words given.
_tern_words() {
    local list='' word=$1
    shift
    if [[ $word == *,* ]]; then
        list=${word%,*},
    fi
    mapfile -t COMPREPLY < <(compgen -P "$list" -W "$*" -- "${word##*,}")
}

_tern_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

_tern_folders() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$1")
}

# The algorithms of the kind on the command line; where there is none, those of all kinds.
_tern_algorithms() {
    local tern=$1 kind
    for kind in "${COMP_WORDS[@]:2}"; do
        if [[ $kind == *_v ]] && "$tern" plan "${kind%_v}" --list 2>/dev/null | grep -v '^optimal '; then
            return
        elif [[ $kind == [a-z]* ]] && "$tern" plan "$kind" --list 2>/dev/null; then
            return
        fi
    done | sed 's/ .*//' | grep . || "$tern" info --words algorithms
}

# The word after an option that takes one of a list. Fails where the option is unknown here.
_tern_value() {
    local tern=$1 command=$2 option=$3 word=$4
    case $command$option in
    *--topo)
        compopt -o nospace 2>/dev/null
        _tern_words "$word" "$("$tern" info --words topologies)"
        [ ${#COMPREPLY[@]} -gt 0 ] || _tern_files "$word"
        ;;
    *--algo) _tern_words "$word" "$(_tern_algorithms "$tern")" ;;
    info--kind) _tern_words "$word" "$("$tern" info --words kinds)" ;;
    info--words) _tern_words "$word" kinds plan-kinds algorithms dtypes ops topologies ;;
    perf-d | exec--dtype) _tern_words "$word" "$("$tern" info --words dtypes)" ;;
    perf-o) _tern_words "$word" "$("$tern" info --words ops)" ;;
    exec--op) _tern_words "$word" "$("$tern" exec --help | sed -n 's/.*--op O  *\(.*\);.*/\1/p' |
        sed 's/,//g; s/ or / /')" ;;
    run--bind) _tern_words "$word" core none ;;
    run--output) _tern_folders "$word" ;;
    example-k | example--kernels | example--savetemp) _tern_folders "$word" ;;
    example-g | example--golden | example--json | example--timeline) _tern_files "$word" ;;
    example-p | example--platform) _tern_words "$word" a2a3 a2a3sim a5 a5sim ;;
    example--log-level) _tern_words "$word" error warn info debug ;;
    example--verify) _tern_words "$word" all root ;;
    *--order) _tern_words "$word" rank any ;;
    perf--window) _tern_words "$word" yes no alloc ;;
    perf--compare) _tern_words "$word" openmpi mpich sim ;;
    *--job) _tern_words "$word" "$(pgrep -u "$(id -u)" -x tern)" ;;
    plan-o | *--certificate | *--plot | *--trace | *--output | sim--timeline | run--timeline) _tern_files "$word" ;;
    run-n | run-np | exec-n | *-p | *--cut | *--slow | *--bytes | *--unit | *--root | perf-[befirwnc]) ;;
    example-[ndc] | example--nranks | example--rounds | example--case | example--device* | \
        example--pto-isa-commit | example--clone-protocol) ;;
    sim--group | sim--piece | sim--*memory | sim--copy | sim--reduce | sim--op | sim--jitter | sim--fail | \
        sim--rows | sim--trace-events | sim--processors | sim--begin | sim--fresh | sim--meet | sim--post | \
        sim--wake) ;;
    *--timeout | *--budget | *--sizes | *--last | *--runs | *--seed | *--time) ;;
    *) return 1 ;;
    esac
}

# `tern example run`, which is Python.
_tern_example() {
    local tern=$1 word=$2 before=$3
    if [ "$COMP_CWORD" -eq 2 ]; then
        _tern_words "$word" run --help
    elif [[ $before == -* ]] && _tern_value "$tern" example "$before" "$word"; then
        return
    elif [[ $word == -* ]]; then
        _tern_words "$word" "$(_tern_options "$tern" example run)"
    fi
}

# `tern run`: after its options, a program, and then that program's own arguments.
_tern_run() {
    local tern=$1 word=$2 before=$3 i=2
    while [ "$i" -lt "$COMP_CWORD" ]; do
        case ${COMP_WORDS[i]} in
        -n | -np | --timeout | --bind | --trace | --timeline | --output) i=$((i + 2)) ;;
        --) i=$((i + 1)) && break ;;
        -*) i=$((i + 1)) ;;
        *) break ;;
        esac
    done
    if [ "$i" -lt "$COMP_CWORD" ]; then
        _tern_files "$word"
    elif [ "$i" -gt "$COMP_CWORD" ]; then
        _tern_value "$tern" run "$before" "$word"
    elif [[ $word == -* && $before != -- ]]; then
        _tern_words "$word" "$(_tern_options "$tern" run)"
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <({ compgen -c -- "$word"; compgen -f -- "$word"; } | sort -u)
    fi
}

_tern() {
    local tern=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]-}
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _tern_words "$word" "$("$tern" --help 2>/dev/null | sed -n 's/^  \([a-z-]\+\)  .*/\1/p')" \
            --help --version
        return
    fi
    if [ "$command" = run ]; then
        _tern_run "$tern" "$word" "$before"
        return
    fi
    if [ "$command" = example ]; then
        _tern_example "$tern" "$word" "$before"
        return
    fi
    if [[ $before == -* ]] && _tern_value "$tern" "$command" "$before" "$word"; then
        return
    fi
    if [[ $word == -* ]]; then
        _tern_words "$word" "$(_tern_options "$tern" "$command")"
        return
    fi
    case $command in
    plan) _tern_words "$word" "$("$tern" info --words plan-kinds)" ;;
    sim)
        _tern_words "$word" "$("$tern" info --words plan-kinds)"
        [ ${#COMPREPLY[@]} -gt 0 ] || _tern_files "$word"
        ;;
    perf) _tern_words "$word" all send_recv \
        "$("$tern" info --words kinds | grep -vxE 'send|recv')" ;;
    tune) _tern_words "$word" "$("$tern" info --words plan-kinds | grep -vx barrier) costs" ;;
    check | exec | kernel-cc) _tern_files "$word" ;;
    esac
}

complete -F _tern tern
