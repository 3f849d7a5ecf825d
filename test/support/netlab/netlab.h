// SPDX-License-Identifier: Apache-2.0
// Hosts on one box, for tests and benchmarks of several machines. A lab is a folder
// tern-netlab.PID and a keeper, process PID: when the keeper ends, however it ends, the kernel
// ends all processes of all hosts, and with them their namespaces. Nothing has a name outside of
// the folder, so labs do not meet. The folder of a dead keeper is removed when the next lab is
// made.
//
// A host has a name (tn0, tn1, ...), an address (10.77.0.1, ...), processes with numbers of its
// own, /dev/shm, and a boot id. It shares the file systems and the clock of the box. Its first
// process runs commands for rsh, as sshd does for ssh.
#ifndef TERN_TEST_NETLAB_H
#define TERN_TEST_NETLAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    NETLAB_HOSTS = 16,
    NETLAB_SKIP = 77,         // exit status: the box does not allow labs
    NETLAB_COMMAND = 1 << 16, // bytes of a command
};

// Bits of a byte for each host in the file `cables` of a lab with a wire.
enum { CUT_FROM = 1, CUT_TO = 2 };

struct lab {
    char folder[96];
    int hosts;
    const char *rate; // of a lab of veth pairs, as tc has it; NULL: none
    bool wire;        // a switch in user space, with this rate and delay
    double gbit;
    double delay_us;
    pid_t init[NETLAB_HOSTS]; // the first process of each host
};

// host.c. Makes host `index`, or says on stderr why not and returns an exit status.
int netlab_host(struct lab *lab, int index);

// rsh.c. Runs a command on a host, with this process's stdin, stdout and stderr; its exit status,
// 128 + the signal that ended it, or 255 with a sentence.
int netlab_rsh(const char *folder, const char *host, const char *command);

// The line of the agent: [options of ssh] HOST COMMAND...
int netlab_agent(const char *folder, int argc, char **argv);

// wire.c. Moves frames between the ports until one of `ends` can be read. `cables` has a byte of
// CUT_ bits for each port.
struct wire {
    int ports[NETLAB_HOSTS]; // TAP devices with GSO frames
    int count;
    double gbit;
    int64_t delay_ns;
    const volatile uint8_t *cables;
    int ends[2];
};
void netlab_switch(const struct wire *wire);

// net.c. Gives the hosts their eth0; fds of the TAP devices in `wire`. An exit status.
int netlab_connect(struct lab *lab, struct wire *wire);

// cable.c. Cuts or mends the cable of a host, in the directions of `bits`. An exit status.
int netlab_cable(const char *folder, const char *host, int bits, bool cut);

// Where a file of the lab is. Lives until the next call.
const char *netlab_file(const char *folder, const char *name);

#endif
