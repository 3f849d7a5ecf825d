// SPDX-License-Identifier: Apache-2.0
// Communicators of a rank table. All ranks that read the same table meet at a path made from its
// text and the user; on several machines at the server of rank 0. Set-up path.

#include "faces/hccl/rank_table.h"

#include <errno.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/options.h"
#include "faces/hccl/state.h"
#include "start/root.h"

// The port is HCCL's own default.
enum { TABLE_BYTES_MAX = 16 << 20, BASE_PORT = 60000, PORT_MIN = 1024, PORT_MAX = 65520 };

// HCCL's name for the communicator of a rank table.
static const char world_name[] = "hccl_world_group";

// Whether an address of this machine is written so.
static bool is_here(const struct ifaddrs *own, const char *id)
{
    for (; own != NULL; own = own->ifa_next) {
        char text[NI_MAXHOST] = "";
        int family = own->ifa_addr != NULL ? own->ifa_addr->sa_family : AF_UNSPEC;
        if ((family == AF_INET || family == AF_INET6) &&
            getnameinfo(own->ifa_addr,
                        family == AF_INET ? sizeof(struct sockaddr_in)
                                          : sizeof(struct sockaddr_in6),
                        text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0 &&
            strcmp(text, id) == 0) {
            return true;
        }
    }
    return false;
}

// A table of several servers may be tried out on one machine, which then is all of them. But where
// one of them is this machine by its address, the others are not.
static HcclResult find_others(const char *call, const char *file,
                              const struct tern__hccl_table *table, bool *others)
{
    struct ifaddrs *own = NULL;
    int here = 0;
    *others = false;
    if (table->servers < 2) {
        return HCCL_SUCCESS;
    }
    if (getifaddrs(&own) != 0) {
        return tern__hccl_refuse(call, HCCL_E_NETWORK,
                                 "the network addresses of this machine cannot be read (%s), so "
                                 "nobody knows which of the %d servers of '%.200s' it is",
                                 strerror(errno), table->servers, file);
    }
    for (int i = 0; i < table->servers; i++) {
        here += is_here(own, table->server_ids[i]);
    }
    freeifaddrs(own);
    *others = here > 0 && here < table->servers;
    return HCCL_SUCCESS;
}

// The ranks of several machines meet where rank 0 listens: its server has an address, since one of
// them is known by it.
static HcclResult find_place(const char *call, const struct tern__hccl_table *table,
                             uint64_t digest, struct tern__root *root)
{
    const char *option = getenv("HCCL_IF_BASE_PORT");
    long port = BASE_PORT;
    uint8_t token[16];
    if (option != NULL && *option != '\0' &&
        tern__parse_integer(option, PORT_MIN, PORT_MAX, &port) != 0) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "HCCL_IF_BASE_PORT is '%.40s'; it must be a number from %d to %d",
                                 option, PORT_MIN, PORT_MAX);
    }
    memcpy(token, &digest, sizeof digest);
    memcpy(token + sizeof digest, &digest, sizeof digest);
    return tern__root_agreed(table->server_ids[table->server_of[0]], (uint32_t)port, token, root) ==
                   TERN_OK
               ? HCCL_SUCCESS
               : tern__hccl_refuse(call, HCCL_E_PARA,
                                   "server_id of rank 0, at which the ranks of several machines "
                                   "meet: %s",
                                   tern_last_error());
}

static HcclResult read_table(const char *call, const char *path, struct tern__hccl_table *table,
                             uint64_t *digest)
{
    char *text;
    size_t size;
    int status = tern__file_read(path, "rank table", TABLE_BYTES_MAX, &text, &size);
    if (status != TERN_OK) {
        return tern__hccl_refuse(call,
                                 status == TERN_ERR_SYSTEM ? HCCL_E_OPEN_FILE_FAILURE : HCCL_E_PARA,
                                 "%s", tern_last_error());
    }
    status = tern__hccl_table_read(path, text, size, table);
    *digest = tern__digest_add(TERN__DIGEST_EMPTY, text, size);
    free(text);
    return status == TERN_OK ? HCCL_SUCCESS
                             : tern__hccl_refuse(call, HCCL_E_PARA, "%s", tern_last_error());
}

static HcclResult join_table(const char *call, const char *file, uint32_t rank,
                             struct tern__hccl_settings *settings, HcclComm *comm)
{
    struct tern__hccl_table *table = calloc(1, sizeof *table);
    struct tern__root root;
    uint64_t digest = 0;
    bool others = false;
    if (table == NULL) {
        return tern__hccl_refuse(call, HCCL_E_MEMORY, "no memory for a rank table");
    }
    HcclResult result = read_table(call, file, table, &digest);
    result = result == HCCL_SUCCESS ? find_others(call, file, table, &others) : result;
    if (result == HCCL_SUCCESS && others) {
        result = find_place(call, table, digest, &root);
    }
    uint32_t ranks = (uint32_t)table->ranks;
    free(table);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (settings->name[0] == '\0') {
        snprintf(settings->name, sizeof settings->name, "%s", world_name);
    }
    char path[160];
    snprintf(path, sizeof path, "%s/tern-hccl-table-%u-%016" PRIx64, tern__hccl_folder(),
             (unsigned)getuid(), digest);
    settings->root = others ? &root : NULL;
    result = tern__hccl_join(call, ranks, path, rank, settings, comm);
    settings->root = NULL;
    return result;
}

HcclResult HcclCommInitClusterInfo(const char *rankTableFile, uint32_t rank, HcclComm *comm)
{
    struct tern__hccl_settings settings = {.buffer_bytes = 0};
    if (rankTableFile == NULL || comm == NULL) {
        return tern__hccl_no_pointer(__func__, rankTableFile == NULL ? "rankTableFile" : "comm");
    }
    return join_table(__func__, rankTableFile, rank, &settings, comm);
}

HcclResult HcclCommInitClusterInfoConfig(const char *rankTableFile, uint32_t rank,
                                         HcclCommConfig *config, HcclComm *comm)
{
    struct tern__hccl_settings settings;
    if (rankTableFile == NULL || config == NULL || comm == NULL) {
        return tern__hccl_no_pointer(__func__, rankTableFile == NULL ? "rankTableFile"
                                               : config == NULL      ? "config"
                                                                     : "comm");
    }
    HcclResult result = tern__hccl_settings(__func__, config, &settings);
    return result != HCCL_SUCCESS ? result
                                  : join_table(__func__, rankTableFile, rank, &settings, comm);
}
