// SPDX-License-Identifier: Apache-2.0
// The command line of a command. One table says what the help prints, which options there are,
// whether they take a value, and where that goes; bash completion reads the help.
#ifndef TERN_CLI_OPTIONS_H
#define TERN_CLI_OPTIONS_H

#include <stdbool.h>

#include "tern/algo.h"
#include "tern/api.h"

struct cli_command {
    const char *name;         // "exec" of `tern exec`
    const char *head, *foot;  // of the help, around the options
    void (*print_more)(void); // of the help, after the head; may be NULL
    bool is_job;              // every rank of a job reads the same words: only rank 0 speaks
    bool ordered;             // what follows the first other word is not for this command
};

// -1 to go on, else the exit status, as of all functions here that read.
typedef int cli_take(void *arguments, const char *option, const char *value);

// What becomes of an option is one of flag, word, number and take.
struct cli_option {
    const char *
        spec; // "-r, --root R", as the help shows it; with a word that has no dash it takes a value
    const char *text; // of the help, its lines separated by '\n'; NULL: not for people
    bool *flag;       // becomes true
    const char **word;
    long *number, least, most;
    const char *what; // of the number, in the sentence about a wrong one: "a number of ranks"
    cli_take *take;   // gets the option as its sentences name it, "--root"
};

// Reads the options and leaves optind at the first other word. `options` end with one without spec;
// help is there without saying.
int cli_read_options(const struct cli_command *command, const struct cli_option *options, int argc,
                     char **argv, void *arguments);

// "tern exec: <sentence>; see 'tern exec --help'" on standard error. Returns CLI_EXIT_USAGE.
int cli_refuse(const struct cli_command *command, const char *format, ...) TERN_PRINTF(2, 3);

// For --order rank|any.
int cli_take_order(const struct cli_command *command, const char *option, const char *word,
                   tern_order *order);

#endif
