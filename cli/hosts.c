// SPDX-License-Identifier: Apache-2.0
// Ranks on several machines, on the command line.

#include "hosts.h"

#include <stdint.h>
#include <stdio.h>

#include "tern/status.h"

int cli_take_env(const struct cli_command *command, struct cli_hosts *hosts, const char *option,
                 const char *value)
{
    if (hosts->nenv == CLI_ENV_MAX) {
        return cli_refuse(command, "%s is given more than %d times", option, CLI_ENV_MAX);
    }
    hosts->env[hosts->nenv++] = (char *)(uintptr_t)value;
    return -1;
}

int cli_check_hosts(const struct cli_command *command, const struct cli_hosts *hosts)
{
    const char *option = hosts->list != NULL           ? NULL
                         : hosts->agent != NULL        ? "--agent"
                         : hosts->head_address != NULL ? "--head-address"
                         : hosts->nenv > 0             ? "--env"
                                                       : NULL;
    return option == NULL ? -1 : cli_refuse(command, "%s goes with --hosts LIST", option);
}

int cli_read_hosts(const struct cli_command *command, struct cli_hosts *hosts)
{
    int status = cli_check_hosts(command, hosts);
    if (status >= 0 || hosts->list == NULL) {
        return status;
    }
    hosts->machines = tern_launch_hosts(hosts->list, hosts->counts);
    if (hosts->machines < 0) {
        return cli_refuse(command, "--hosts: %s", tern_last_error());
    }
    for (int m = 0; m < hosts->machines; m++) {
        hosts->nranks += hosts->counts[m];
    }
    return -1;
}

void cli_launch_hosts(const struct cli_hosts *hosts, tern_launch_options *options)
{
    options->hosts = hosts->list;
    options->agent = hosts->agent;
    options->head_address = hosts->head_address;
    options->env = hosts->nenv > 0 ? hosts->env : NULL;
}

int cli_hosts_topo(const struct cli_hosts *hosts, tern_topo **topo)
{
    char word[16 + 3 * TERN_RANKS_MAX] = "machines:";
    size_t used = 9;
    *topo = NULL;
    if (hosts->machines < 2) {
        return TERN_OK;
    }
    for (int m = 0; m < hosts->machines; m++) {
        used += (size_t)snprintf(word + used, sizeof word - used, "%s%d", m > 0 ? "+" : "",
                                 hosts->counts[m]);
    }
    return tern_topo_create(word, topo);
}
