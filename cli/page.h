// SPDX-License-Identifier: Apache-2.0
// --timeline FILE: the page that tern.timeline, which is Python, makes of a trace.
#ifndef TERN_CLI_PAGE_H
#define TERN_CLI_PAGE_H

struct cli_page {
    const char *command; // "tern run", for sentences
    const char *file;    // the page; NULL: none is wanted, and all functions here do nothing
    char own[512];       // the trace's file when that is for the page only, else ""
};

// Before the run: whether the page can be written and a Python is there to write it, and a place
// for its trace where *trace is NULL. 0, or 1 after a sentence on standard error.
int cli_page_begin(struct cli_page *page, const char **trace);

// After the run. 0, or 1 after a sentence. From then on the environment is that of the page's
// Python.
int cli_page_write(const struct cli_page *page, const char *trace, const char *title);

// Lets go of the place.
void cli_page_end(const struct cli_page *page);

#endif
