// SPDX-License-Identifier: Apache-2.0
// Plans in files. Reading takes no more memory than the plan and one line.

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "base/file.h"
#include "plan/scan.h"
#include "plan/text.h"

#define BUFFER_BYTES (2 * TERN__PLAN_LINE_MAX) // more than a line, so that one always fits

// Feeds the complete lines of a buffer, and what cannot become a line any more; *held is what is
// left.
static int feed_lines(struct tern__plan_parser *parser, char *buffer, size_t *held, bool last)
{
    char *at = buffer;
    char *end = buffer + *held;
    char *stop;
    while (at < end && (stop = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        TERN_TRY(tern__plan_parser_feed(parser, at, (size_t)(stop - at), true));
        at = stop + 1;
    }
    size_t rest = (size_t)(end - at);
    if (rest > TERN__PLAN_LINE_MAX || (last && rest > 0)) {
        TERN_TRY(tern__plan_parser_feed(parser, at, rest, false));
    }
    memmove(buffer, at, rest);
    *held = rest;
    return TERN_OK;
}

static int read_plan(FILE *file, const char *name, struct tern__plan_parser *parser, char *buffer)
{
    size_t held = 0;
    do {
        held += fread(buffer + held, 1, BUFFER_BYTES - held, file);
        if (ferror(file)) {
            return tern__fail_errno(TERN_ERR_SYSTEM, "cannot read the plan %.400s", name);
        }
        TERN_TRY(feed_lines(parser, buffer, &held, feof(file) != 0));
    } while (!feof(file));
    return TERN_OK;
}

static int load(FILE *file, const char *name, tern_plan **plan)
{
    char *buffer = malloc(BUFFER_BYTES);
    if (buffer == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to read the plan %.400s", name);
    }
    struct tern__plan_parser *parser = NULL;
    int status = tern__plan_parser_create(name, &parser);
    if (status == TERN_OK) {
        status = read_plan(file, name, parser, buffer);
    }
    if (status == TERN_OK) {
        status = tern__plan_parser_finish(parser, plan);
    }
    tern__plan_parser_destroy(parser);
    free(buffer);
    return status;
}

static int plan_load(const char *path, tern_plan **plan)
{
    if (path == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_load: path and plan must not be NULL");
    }
    if (strcmp(path, "-") == 0) {
        return load(stdin, "standard input", plan);
    }
    FILE *file;
    TERN_TRY(tern__file_open(path, "plan", &file));
    int status = load(file, path, plan);
    fclose(file);
    return status;
}

int tern_plan_load(const char *path, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(plan_load(path, plan));
}

// What is written where.
struct saved {
    const tern_plan *plan;
    const char *path;
};

static int write_plan(FILE *file, void *arg)
{
    const struct saved *saved = arg;
    return tern__plan_write(saved->plan, file, saved->path);
}

static int plan_save(const tern_plan *plan, const char *path)
{
    TERN_TRY(tern__plan_lives("tern_plan_save", plan));
    if (path == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_save: path must not be NULL");
    }
    if (!plan->sealed) {
        return tern__fail(TERN_ERR_STATE, "tern_plan_save: the plan must be sealed first");
    }
    if (strcmp(path, "-") == 0) {
        return tern__plan_write(plan, stdout, "standard output");
    }
    struct saved saved = {.plan = plan, .path = path};
    return tern_file_save(path, write_plan, &saved);
}

int tern_plan_save(const tern_plan *plan, const char *path)
{
    return TERN__CALL_OF_CALLS(plan_save(plan, path));
}
