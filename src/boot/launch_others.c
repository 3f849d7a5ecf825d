// SPDX-License-Identifier: Apache-2.0
#include "boot/launch_others.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "boot/env.h"

enum { RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT };

static const char *const names[TERN__OTHERS] = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR",
                                                "MASTER_PORT"};

// One that is free, of which *fd is a socket that does not listen; 0: none.
static int take_port(int *fd)
{
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    bool taken = made >= 0 && bind(made, (struct sockaddr *)&address, length) == 0 &&
                 setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
                 getsockname(made, (struct sockaddr *)&address, &length) == 0;
    if (taken) {
        *fd = made;
        return ntohs(address.sin_port);
    }
    if (made >= 0) {
        close(made);
    }
    return 0;
}

void tern__others_choose(struct tern__others *others, int nranks, bool one_machine, int *port_fd)
{
    const char *rank = getenv(names[RANK]), *own_rank = getenv(TERN_ENV_RANK);
    bool nested = rank != NULL && own_rank != NULL && strcmp(rank, own_rank) == 0;
    for (int i = 0; i < TERN__OTHERS; i++) {
        others->used[i] = nested || getenv(names[i]) == NULL;
    }
    others->used[MASTER_ADDR] = others->used[MASTER_ADDR] && one_machine;
    int port = others->used[MASTER_PORT] && one_machine ? take_port(port_fd) : 0;
    others->used[MASTER_PORT] = port != 0;
    snprintf(others->text[WORLD_SIZE], TERN__OTHERS_BYTES, "WORLD_SIZE=%d", nranks);
    snprintf(others->text[MASTER_ADDR], TERN__OTHERS_BYTES, "MASTER_ADDR=127.0.0.1");
    snprintf(others->text[MASTER_PORT], TERN__OTHERS_BYTES, "MASTER_PORT=%d", port);
}

void tern__others_set(struct tern__others *others, int rank, int local)
{
    snprintf(others->text[RANK], TERN__OTHERS_BYTES, "RANK=%d", rank);
    snprintf(others->text[LOCAL_RANK], TERN__OTHERS_BYTES, "LOCAL_RANK=%d", local);
}

bool tern__others_replace(const struct tern__others *others, const char *variable)
{
    for (int i = 0; i < TERN__OTHERS; i++) {
        size_t length = strlen(names[i]);
        if (others->used[i] && strncmp(variable, names[i], length) == 0 &&
            variable[length] == '=') {
            return true;
        }
    }
    return false;
}
