// SPDX-License-Identifier: Apache-2.0
// Places at which ranks meet. Set-up path.

#include "start/root.h"

#include <string.h>

#include "base/error.h"
#include "boot/env.h"
#include "boot/listen.h"

static int read_address(const char *text, uint32_t port, struct tern__address *address)
{
    return tern__address_read(address, text, port)
               ? TERN_OK
               : tern__fail(TERN_ERR_ARG,
                            "'%.80s' is not the IPv4 or IPv6 address of a machine, as in 10.77.0.2",
                            text);
}

int tern__root_make(const char *address, struct tern__root *root)
{
    memset(root, 0, sizeof *root);
    root->host = -1;
    if (address != NULL) {
        TERN_TRY(read_address(address, 0, &root->address));
    }
    TERN_TRY(tern__token_random(root->token));
    return tern__root_listen(root);
}

int tern__root_agreed(const char *address, uint32_t port, const uint8_t token[16],
                      struct tern__root *root)
{
    memset(root, 0, sizeof *root);
    memcpy(root->token, token, sizeof root->token);
    return read_address(address, port, &root->address);
}
