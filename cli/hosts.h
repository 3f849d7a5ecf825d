// SPDX-License-Identifier: Apache-2.0
// The options --hosts, --agent, --head-address and --env of the commands that start ranks on
// several machines.
#ifndef TERN_CLI_HOSTS_H
#define TERN_CLI_HOSTS_H

#include "options.h"
#include "tern/launch.h"
#include "tern/topo.h"

#define CLI_ENV_MAX 64

struct cli_hosts {
    const char *list; // NULL: this machine alone
    const char *agent, *head_address;
    int nenv;
    char *env[CLI_ENV_MAX + 1];
    // cli_read_hosts:
    int machines, nranks;
    int counts[TERN_RANKS_MAX]; // ranks of each machine
};

// Rows of the command's table; take_env calls cli_take_env.
#define CLI_HOSTS_OPTIONS(hosts, take_env)                                                         \
    {"--hosts LIST", "ranks on several hosts: a:2,b:2 (then -n need not be there)",                \
     .word = &(hosts)->list},                                                                      \
        {"--agent CMD",                                                                            \
         "what starts a command on a host, as in CMD HOST COMMAND\n"                               \
         "(default: ssh -x -o BatchMode=yes)",                                                     \
         .word = &(hosts)->agent},                                                                 \
        {"--head-address ADDRESS", "where the hosts reach this machine",                           \
         .word = &(hosts)->head_address},                                                          \
    {                                                                                              \
        "--env NAME[=VALUE]", "with --hosts: a variable for all ranks, besides TERN_...",          \
            .take = take_env                                                                       \
    }

// -1 to go on, else the exit status.
int cli_take_env(const struct cli_command *command, struct cli_hosts *hosts, const char *option,
                 const char *value);

// Refuses options that only go with --hosts, without it; and then reads what --hosts says.
int cli_check_hosts(const struct cli_command *command, const struct cli_hosts *hosts);
int cli_read_hosts(const struct cli_command *command, struct cli_hosts *hosts);

// For tern_launch.
void cli_launch_hosts(const struct cli_hosts *hosts, tern_launch_options *options);

// The ranks and their machines; *topo is NULL for one machine. 0, or a negative status.
int cli_hosts_topo(const struct cli_hosts *hosts, tern_topo **topo);

#endif
