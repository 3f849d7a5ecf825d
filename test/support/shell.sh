# SPDX-License-Identifier: Apache-2.0
#
# The begin of every script here: `source "$(dirname "$0")/../support/shell.sh"`. It stops at the
# first error, stands in an empty folder of its own, and finds there
#
#     $root, $build, $tern, $dir   the tree, its build, the command, the folder
#     die WORDS...                 ends the test with a sentence
#     expect STATUS TEXT COMMAND   the exit status, and a part of what is printed ('' for anything)
#     until_said REGEX COMMAND     repeats the command, for 20 s, until it prints that
#     $quick_link                  for what is linked often, and whose link is not what is tested
#     at_exit                      to be defined by a test that has more to clean up than its folder
#
# Hosts count as gone after TERN_NET_TIMEOUT: 60 s here, as this box may be so busy that the one
# second of everyday is nothing.
set -euo pipefail
export TERN_NET_TIMEOUT=${TERN_NET_TIMEOUT:-60}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${TERN_BUILD_DIR:-$root/build/release}
tern=$build/bin/tern
dir=$(mktemp -d "${TMPDIR:-/tmp}/tern-test.XXXXXX")

quick_link=
! command -v ld.gold >/dev/null || quick_link=-fuse-ld=gold # half the time of the usual one

at_exit() {
    :
}
trap 'at_exit; rm -rf "$dir"' EXIT
cd "$dir"

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# What it prints stays in the file `said`.
expect() {
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >said 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || die "$*: exit status $status, not $wanted: $(head -3 said)"
    [ -z "$text" ] || grep -qF -- "$text" said || die "$*: does not say '$text': $(head -3 said)"
}

until_said() {
    local text=$1
    shift
    for _ in $(seq 400); do
        "$@" >said 2>&1 || true
        ! grep -qE -- "$text" said || return 0
        sleep 0.05
    done
    die "$*: never says '$text': $(head -3 said)"
}
