// SPDX-License-Identifier: Apache-2.0
// Cutting the cable between a host and the switch, in one direction or both; the host's own
// device stays up, as it does behind a switch. With a wire that is a byte which the switch looks
// at. With a bridge the port takes no frame from a sender that it has not learnt (from the host),
// or passes none on to a receiver that it has not learnt (to the host), and learns nobody.
#include "netlab.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int enter_keeper(const char *folder)
{
    static const char *const kinds[] = {"user", "net"};
    const char *pid = strrchr(folder, '.');
    for (int i = 0; i < 2 && pid != NULL; i++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%.12s/ns/%s", pid + 1, kinds[i]);
        int ns = open(path, O_RDONLY | O_CLOEXEC);
        int entered = ns >= 0 ? setns(ns, 0) : -1;
        if (ns >= 0) {
            close(ns);
        }
        if (i == 1 && entered == 0) { // the user namespace is entered only if it is another one
            return 0;
        }
    }
    fprintf(stderr, "netlab: no way into the namespace of the switch of %s\n", folder);
    return 1;
}

static int change_port(const char *folder, int host, int cut)
{
    const char *from = (cut & CUT_FROM) != 0 ? "on" : "off";
    const char *to = (cut & CUT_TO) != 0 ? "off" : "on";
    char command[512];
    snprintf(command, sizeof command,
             "bridge link set dev p%d learning %s flood %s mcast_flood %s bcast_flood %s locked %s "
             "&& ip link set dev p%d type bridge_slave fdb_flush",
             host, cut == 0 ? "on" : "off", to, to, to, from, host);
    if (enter_keeper(folder) != 0 || system(command) != 0) {
        fprintf(stderr, "netlab: this failed: %s\n", command);
        return 1;
    }
    return 0;
}

int netlab_cable(const char *folder, const char *host, int bits, bool cut)
{
    char *end;
    long index = strncmp(host, "tn", 2) == 0 ? strtol(host + 2, &end, 10) : -1;
    int fd = open(netlab_file(folder, "cables"), O_RDWR | O_CLOEXEC);
    uint8_t state = 0;
    if (index < 0 || *end != '\0' || fd < 0 || pread(fd, &state, 1, index) != 1) {
        fprintf(stderr, "netlab: there is no host '%s' in %s\n", host, folder);
        return 1;
    }
    state = (uint8_t)(cut ? state | bits : state & ~bits);
    int status = pwrite(fd, &state, 1, index) == 1 ? 0 : 1;
    close(fd);
    if (status == 0 && access(netlab_file(folder, "bridge"), F_OK) == 0) {
        status = change_port(folder, (int)index, state);
    }
    return status;
}
