#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Hosts on one box (test/support/netlab): what they share and what not, commands by rsh, cutting
# cables in each direction, stopping a host, and that nothing is left, however a lab ends.
source "$(dirname "$0")/../support/shell.sh"
netlab=$build/bin/netlab

# A datagram that is answered: what the other host got, and whether an answer came, and not too soon.
cat >echo.py <<'END'
import socket, sys, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
if sys.argv[1] == "serve":
    end.bind(("", 4711))
    open(sys.argv[2] + ".ready", "w").close()
    while True:
        data, sender = end.recvfrom(100)
        with open(sys.argv[2], "a") as file:
            file.write(data.decode() + "\n")
        end.sendto(data, sender)
end.settimeout(20 if sys.argv[3] == "wait" else 0.3)
begin = time.monotonic()
end.sendto(sys.argv[2].encode(), ("tn1", 4711))
try:
    print("answer", end.recv(100).decode())
    if len(sys.argv) > 4 and time.monotonic() - begin < float(sys.argv[4]):
        sys.exit("the answer came too soon")
except TimeoutError:
    print("no answer")
END

# until TEST...: for 20 s
until_true() {
    for _ in $(seq 400); do
        ! "$@" || return 0
        sleep 0.05
    done
    die "never true: $*"
}

gone() {
    [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

make_lab() {
    local status=0
    lab=$("$netlab" --for $$ "$@" 2>said) || status=$?
    if [ $status -eq 77 ]; then
        echo "skipped: $(<said)"
        exit 77
    fi
    [ $status -eq 0 ] || die "netlab $*: $(<said)"
}

expect 2 'usage: netlab' "$netlab" up 99
make_lab up 1
"$lab/netlab" down
"$("$netlab" --for $$ up 1 2>&1)/netlab" down # nothing of a lab holds what it was made with
for kind in "up 3" "wire 3 1 100"; do
    # shellcheck disable=SC2086
    make_lab $kind
    rsh=$lab/rsh

    expect 0 tn2 "$rsh" tn2 hostname
    expect 7 '' "$rsh" -x -o Option=no tn0 'exit 7'
    expect 143 '' "$rsh" tn0 'kill -TERM $$'
    expect 255 "there is no host 'tn3'" "$rsh" tn3 true
    FOREIGN=yes expect 0 'stdin/root_only' "$rsh" tn0 'read word; echo "$word/${FOREIGN-root_only}"' <<<stdin
    expect 0 tn1 "$rsh" tn0 "$rsh tn1 hostname"
    [ "$("$rsh" tn0 'cat /proc/sys/kernel/random/boot_id')" != \
        "$("$rsh" tn1 'cat /proc/sys/kernel/random/boot_id')" ] || die "two hosts have one boot id"
    expect 0 '' "$lab/netlab" left
    "$rsh" tn0 'touch /dev/shm/here'
    expect 1 'tn0: file /dev/shm/here' "$lab/netlab" left
    expect 0 '' "$lab/netlab" left tn1
    "$rsh" tn0 'rm /dev/shm/here'

    "$rsh" tn1 "python3 $dir/echo.py serve $dir/got" &
    until_true test -e got.ready
    ask() {
        expect 0 "$2" "$rsh" tn0 "python3 $dir/echo.py ask $1 ${3-}"
    }
    ask one 'answer one' wait
    "$lab/netlab" cut tn1 to
    ask lost_there 'no answer' no
    "$lab/netlab" mend tn1
    ask two 'answer two' wait
    "$lab/netlab" cut tn1 from
    ask lost_back 'no answer' no
    "$lab/netlab" mend tn1 from
    ask three 'answer three' wait
    "$lab/netlab" cut tn0
    ask lost_both 'no answer' no
    "$lab/netlab" mend tn0
    "$lab/netlab" flap tn0 10 3
    "$lab/netlab" stop tn1
    expect 0 'T ' "$rsh" tn1 "grep -h ^State: /proc/[2-9]*/status"
    ask frozen 'no answer' no
    "$lab/netlab" go tn1
    ask four 'answer four' wait
    [ "$(grep -v frozen got | tr '\n' ' ')" = "one two lost_back three four " ] || die "got: $(<got)"
    rm got got.ready
    expect 1 'tn1: process' "$lab/netlab" left

    expect 0 '' "$lab/netlab" down
    wait
    [ ! -e "$lab" ] || die "$lab is still there"
done

# A wire keeps its promises: two delays of 30 ms, and 250 kB at 0.02 Gbit/s, take at least as long.
make_lab wire 2 0 30000
"$lab/rsh" tn1 "python3 $dir/echo.py serve $dir/got" &
server=$!
until_true test -e got.ready
expect 0 'answer first' "$lab/rsh" tn0 "python3 $dir/echo.py ask first wait"
expect 0 'answer second' "$lab/rsh" tn0 "python3 $dir/echo.py ask second wait 0.06"
"$lab/netlab" down
wait $server || true
make_lab wire 2 0.02 0
cat >stream.py <<'END'
import socket, sys, time
if sys.argv[1] == "take":
    end = socket.create_server(("", 4713))
    open(sys.argv[2], "w").close()
    other, _ = end.accept()
    left = 250000
    while left > 0:
        left -= len(other.recv(100000))
    other.sendall(b"x")
else:
    other = socket.create_connection(("tn1", 4713))
    begin = time.monotonic()
    other.sendall(bytes(250000))
    other.recv(1)
    took = time.monotonic() - begin
    sys.exit(f"250 kB took {took} s" if took < 0.1 else 0)
END
"$lab/rsh" tn1 "python3 $dir/stream.py take $dir/listens; sleep 1000" &
server=$!
until_true test -e listens
expect 0 '' "$lab/rsh" tn0 "python3 $dir/stream.py give"

# A killed keeper takes its hosts along; the next lab removes its folder. Two labs do not meet.
first=$lab
make_lab up 2
expect 0 tn0 "$first/rsh" tn0 hostname
keeper=${first##*.}
kill -KILL "$keeper"
wait $server || true # its host has ended
"$lab/netlab" down
make_lab up 2
[ ! -e "$first" ] || die "$first is still there"

# A lab ends with the process that it is for, and by SIGTERM and SIGINT.
for signal in KILL TERM INT; do
    sleep 1000 &
    owner=$!
    other=$("$netlab" --for $owner up 2)
    "$other/rsh" tn1 'sleep 1000' >/dev/null 2>&1 &
    inside=$!
    if [ $signal = KILL ]; then
        kill -KILL $owner
    else
        kill -$signal "${other##*.}"
    fi
    wait $inside || true
    until_true gone "${other##*.}"
    [ ! -e "$other" ] || die "$other is still there after $signal"
    kill -KILL $owner 2>/dev/null || true
done
"$lab/netlab" down
