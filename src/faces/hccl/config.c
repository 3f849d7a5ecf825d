// SPDX-License-Identifier: Apache-2.0
// Configs of communicators, of every version of the struct, and of the process. Set-up path.

#include <stddef.h>
#include <string.h>

#include "base/order.h"
#include "faces/hccl/state.h"

enum { SIZE_LEAST = 32, SIZE_MOST = 1 << 16, VERSION_OF_2025 = 5 };

// The first bytes, in all versions.
struct info {
    size_t size;
    uint32_t magic, version;
    uint64_t reserved;
};
_Static_assert(sizeof(struct info) == HCCL_COMM_CONFIG_INFO_BYTES, "");
_Static_assert(offsetof(HcclCommConfig, hcclWorldRankID) == 300, "the struct of version 5");

static _Atomic uint32_t determinism;

uint32_t HcclGetCommConfigCapability(void)
{
    return HCCL_COMM_CONFIG_RESERVED;
}

// Where the fields of a version of the struct end.
static size_t end_of(uint32_t version)
{
    static const size_t ends[] = {
        [VERSION_OF_2025] = offsetof(HcclCommConfig, hcclWorldRankID),
        [6] = offsetof(HcclCommConfig, aclGraphZeroCopyEnable),
        [7] = offsetof(HcclCommConfig, aclGraphZeroCopyEnable) + sizeof(uint8_t),
        [8] = offsetof(HcclCommConfig, hcclBufferName),
        [9] = offsetof(HcclCommConfig, hcclBufferName) + BUFFER_NAME_MAX_LENGTH,
    };
    if (version >= sizeof ends / sizeof ends[0]) {
        return sizeof(HcclCommConfig);
    }
    return ends[version < VERSION_OF_2025 ? VERSION_OF_2025 : version];
}

// Copies what the caller's version of the struct has over one that has nothing set.
static HcclResult read_config(const char *call, const HcclCommConfig *from, HcclCommConfig *config)
{
    struct info info;
    memcpy(&info, from->reserved, sizeof info);
    if (info.magic != HCCL_COMM_CONFIG_MAGIC_WORD) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "the config begins with the word %#x instead of %#x; "
                                 "HcclCommConfigInit writes it",
                                 info.magic, HCCL_COMM_CONFIG_MAGIC_WORD);
    }
    size_t least = info.version < VERSION_OF_2025 ? SIZE_LEAST
                   : info.version < HCCL_COMM_CONFIG_VERSION
                       ? offsetof(HcclCommConfig, hcclWorldRankID)
                       : sizeof *config;
    if (info.version == 0 || info.size < least || info.size > SIZE_MOST) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 info.version == 0
                                     ? "the config says version %u and %zu bytes; versions begin "
                                       "with 1, of %zu to %d bytes"
                                     : "the config says version %u and %zu bytes; that version "
                                       "has %zu to %d",
                                 info.version, info.size, least, (int)SIZE_MOST);
    }
    HcclCommConfigInit(config);
    // A struct may end in padding, inside of a field that its version does not have.
    const size_t known = end_of(info.version);
    memcpy(config, from, info.size < known ? info.size : known);
    return HCCL_SUCCESS;
}

static HcclResult check_config(const char *call, const HcclCommConfig *config)
{
    if (config->hcclBufferSize == 0) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "hcclBufferSize is 0; it must be 1 MiB or more");
    }
    if (config->hcclDeterministic > 2 && config->hcclDeterministic != HCCL_COMM_CONFIG_NOT_SET) {
        return tern__hccl_refuse(call, HCCL_E_PARA, "hcclDeterministic is %u; it must be 0, 1 or 2",
                                 config->hcclDeterministic);
    }
    if (memchr(config->hcclCommName, '\0', sizeof config->hcclCommName) == NULL) {
        return tern__hccl_refuse(call, HCCL_E_PARA, "hcclCommName has no end within its %d bytes",
                                 COMM_NAME_MAX_LENGTH);
    }
    if (config->hcclExecTimeOut != HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET &&
        config->hcclExecTimeOut < 0) {
        return tern__hccl_refuse(call, HCCL_E_PARA,
                                 "hcclExecTimeOut is %d; it must be 0 (no end) or more seconds",
                                 config->hcclExecTimeOut);
    }
    return HCCL_SUCCESS;
}

HcclResult tern__hccl_settings(const char *call, const HcclCommConfig *config,
                               struct tern__hccl_settings *settings)
{
    HcclCommConfig read = {.hcclBufferSize = 0};
    memset(settings, 0, sizeof *settings);
    HcclResult result = read_config(call, config, &read);
    result = result != HCCL_SUCCESS ? result : check_config(call, &read);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    memcpy(settings->name, read.hcclCommName, sizeof settings->name);
    if (read.hcclBufferSize != HCCL_COMM_CONFIG_NOT_SET) {
        settings->buffer_bytes = (size_t)read.hcclBufferSize << 20;
    }
    if (read.hcclExecTimeOut != HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
        settings->timeout_ns =
            read.hcclExecTimeOut == 0 ? INT64_MAX : INT64_C(1000000000) * read.hcclExecTimeOut;
    }
    return HCCL_SUCCESS;
}

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue)
{
    if (config != HCCL_DETERMINISTIC) {
        return tern__hccl_refuse(__func__, HCCL_E_PARA,
                                 "config is %d; there is HCCL_DETERMINISTIC (0)", (int)config);
    }
    if (configValue.value < 0 || configValue.value > 2) {
        return tern__hccl_refuse(__func__, HCCL_E_PARA,
                                 "HCCL_DETERMINISTIC cannot be %d; it is 0, 1 or 2",
                                 configValue.value);
    }
    tern__flag_store(&determinism, (uint32_t)configValue.value);
    return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue)
{
    if (configValue == NULL) {
        return tern__hccl_no_pointer(__func__, "configValue");
    }
    if (config != HCCL_DETERMINISTIC) {
        return tern__hccl_refuse(__func__, HCCL_E_PARA,
                                 "config is %d; there is HCCL_DETERMINISTIC (0)", (int)config);
    }
    configValue->value = (int32_t)tern__flag_load(&determinism);
    return HCCL_SUCCESS;
}
