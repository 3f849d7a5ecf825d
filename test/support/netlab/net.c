// SPDX-License-Identifier: Apache-2.0
// The network of a lab. With a wire each host's eth0 is a TAP device whose other end is in this
// process (wire.c). Without one it is a veth pair into a bridge in the keeper's own network
// namespace, with tc's token bucket at both ends where a rate is asked for.
#include "netlab.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    if (system(command) != 0) {
        fprintf(stderr, "netlab: this failed: %s\n", command);
        return 1;
    }
    return 0;
}

// Everything is about the namespace of host `index` from here on; -1 restores the own one, `home`.
static int enter(const struct lab *lab, int index, int home)
{
    int ns = home;
    if (index >= 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/ns/net", (int)lab->init[index]);
        ns = open(path, O_RDONLY | O_CLOEXEC);
    }
    int failed = ns < 0 || setns(ns, CLONE_NEWNET) != 0;
    if (failed) {
        fprintf(stderr, "netlab: no way into a network namespace: %s\n", strerror(errno));
    }
    if (ns >= 0 && ns != home) {
        close(ns);
    }
    return failed;
}

static int open_tap(int *fd)
{
    struct ifreq request = {.ifr_name = "eth0"};
    request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
    *fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0) {
        fprintf(stderr, "netlab: a wire needs /dev/net/tun: %s\n", strerror(errno));
        return NETLAB_SKIP;
    }
    int head = sizeof(struct virtio_net_hdr);
    if (ioctl(*fd, TUNSETIFF, &request) != 0 || ioctl(*fd, TUNSETVNETHDRSZ, &head) != 0 ||
        ioctl(*fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6) != 0) {
        int why = errno;
        fprintf(stderr, "netlab: no TAP device: %s\n", strerror(why));
        return why == EPERM ? NETLAB_SKIP : 1;
    }
    return 0;
}

// cubic is not for every namespace; with one algorithm for all, figures can be compared.
static void choose_congestion_control(void)
{
    int fd = open("/proc/sys/net/ipv4/tcp_congestion_control", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "reno", 4) != 4) {
        fprintf(stderr, "netlab: TCP keeps the kernel's congestion control, not reno: %s\n",
                strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
}

// In the host's namespace: its eth0 is there, and gets its address.
static int bring_up(const struct lab *lab, int index)
{
    choose_congestion_control();
    int failed = shell("ip link set lo up && ip link set eth0 address 02:77:00:00:00:%02x "
                       "txqueuelen 2000 && ip addr add 10.77.0.%d/24 dev eth0 && "
                       "ip link set eth0 up",
                       index + 1, index + 1);
    if (!failed && lab->wire && lab->gbit < 4) { // a whole frame would hold the link for long
        failed = shell("ip link set eth0 gso_max_size 32768 gso_max_segs 32");
    }
    if (!failed && lab->rate != NULL) {
        failed = shell("tc qdisc add dev eth0 root tbf rate %s burst 256k limit 4m", lab->rate);
    }
    return failed;
}

static int add_cable(const struct lab *lab, int index)
{
    int failed = shell("ip link add p%d type veth peer name eth0 netns %d && "
                       "ip link set p%d master br0 up",
                       index, (int)lab->init[index], index);
    if (!failed && lab->rate != NULL) {
        failed =
            shell("tc qdisc add dev p%d root tbf rate %s burst 256k limit 4m", index, lab->rate);
    }
    return failed;
}

int netlab_connect(struct lab *lab, struct wire *wire)
{
    int status = 0;
    if (unshare(CLONE_NEWNET) != 0) {
        fprintf(stderr, "netlab: no network namespace: %s\n", strerror(errno));
        return errno == EPERM ? NETLAB_SKIP : 1;
    }
    static const char tools[] = "(ip -V && bridge -V && tc -V) >/dev/null 2>&1";
    static const char bridge[] = "ip link add br0 type bridge && ip link set br0 up";
    if (shell("%s", tools) != 0 || (!lab->wire && shell("%s", bridge) != 0)) {
        return NETLAB_SKIP; // not installed, or not in this kernel
    }
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < lab->hosts && status == 0; i++) {
        status = lab->wire ? 0 : add_cable(lab, i);
        if (status == 0) {
            status = enter(lab, i, home);
        }
        if (status == 0 && lab->wire) {
            status = open_tap(&wire->ports[i]);
        }
        if (status == 0) {
            status = bring_up(lab, i);
        }
        int back = enter(lab, -1, home);
        status = status != 0 ? status : back;
    }
    close(home);
    wire->count = lab->wire ? lab->hosts : 0;
    wire->gbit = lab->gbit;
    wire->delay_ns = (int64_t)(lab->delay_us * 1000);
    return status;
}
