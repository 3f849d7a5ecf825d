// SPDX-License-Identifier: Apache-2.0
// The Python that runs what of a command is written in Python.
#ifndef TERN_CLI_PYTHON_H
#define TERN_CLI_PYTHON_H

// A Python that has the module `needs`: TERN_PYTHON, else python3, else /usr/bin/python3; tern's
// package must have `file`. NULL after a sentence on standard error, in which `needs` is called
// `called` and comes with the package `from`.
struct cli_python {
    const char *command; // "tern sim"
    const char *file;    // "tern/timeline/__main__.py"
    const char *needs, *called, *from;
};
char *cli_look_for_python(const struct cli_python *wanted);

// The same to run it: from then on the environment tells it where tern's package is, and which
// command this is.
char *cli_find_python(const struct cli_python *wanted);

#endif
