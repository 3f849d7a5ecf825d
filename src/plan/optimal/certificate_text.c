// SPDX-License-Identifier: Apache-2.0
// The text form of certificates, read strictly: every line in its place, prices in ascending order
// of links, then resources, none twice.

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/kind.h"
#include "base/public.h"
#include "plan/optimal/certificate.h"
#include "plan/scan.h"

#define FILE_BYTES_MAX (8 << 20)

const char *tern__certificate_scope_word(tern_certificate_scope scope)
{
    static const char *const words[] = {"all-plans", "tree-plans", "rank-order-plans",
                                        "prefix-plans"};
    return words[scope];
}

static int write_text(FILE *file, void *arg)
{
    const tern_certificate *c = arg;
    fprintf(file, "tern-certificate 1\n");
    if (c->topology != NULL) {
        fprintf(file, "# %.*s\n", 4000, c->topology);
    }
    fprintf(file, "kind %s\nranks %d\n", tern_plan_kind_name(c->kind), c->ranks);
    if (tern__kind_has_root(c->kind)) {
        fprintf(file, "root %d\n", c->root);
    }
    fprintf(file, "scope %s\n", tern__certificate_scope_word(c->scope));
    for (int i = 0; i < c->count; i++) {
        const struct tern__price_line *line = &c->lines[i];
        if (line->from >= 0) {
            fprintf(file, "link %d %d %lld\n", line->from, line->to, (long long)line->price);
        } else {
            fprintf(file, "resource %s %lld\n", line->name, (long long)line->price);
        }
    }
    fprintf(file, "end\n");
    return fflush(file) == 0 && !ferror(file)
               ? TERN_OK
               : tern__fail_errno(TERN_ERR_SYSTEM, "cannot write the certificate");
}

static int save(const tern_certificate *certificate, const char *path)
{
    if (certificate == NULL || path == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_certificate_save: certificate and path must not be NULL");
    }
    return strcmp(path, "-") == 0
               ? write_text(stdout, (void *)(uintptr_t)certificate)
               : tern_file_save(path, write_text, (void *)(uintptr_t)certificate);
}

int tern_certificate_save(const tern_certificate *certificate, const char *path)
{
    return TERN__CALL_OF_CALLS(save(certificate, path));
}

struct reader {
    struct tern__scan scan;
    const char *next, *end;
    tern_certificate *c;
};

// Goes to the next line that has words, and takes the first.
static int next_line(struct reader *r)
{
    while (r->next < r->end) {
        const char *line = r->next;
        const char *stop = memchr(line, '\n', (size_t)(r->end - line));
        size_t length = (size_t)((stop != NULL ? stop : r->end) - line);
        r->next = stop != NULL ? stop + 1 : r->end;
        TERN_TRY(tern__scan_line(&r->scan, line, length, stop != NULL));
        if (tern__scan_next(&r->scan)) {
            return TERN_OK;
        }
    }
    return tern__fail(TERN_ERR_ARG, "%.400s: the certificate has no line 'end'", r->scan.name);
}

static int number(struct reader *r, const char *what, uint64_t low, uint64_t high, uint64_t *value)
{
    const struct tern__number wanted = {what, low, high, TERN_ERR_LIMIT};
    return tern__scan_number(&r->scan, &wanted, value);
}

static int expect(struct reader *r, const char *word)
{
    return tern__scan_is(&r->scan, word)
               ? TERN_OK
               : tern__scan_expected(&r->scan, TERN_ERR_ARG, r->scan.word, "'%s'", word);
}

static int read_kind(struct reader *r)
{
    (void)tern__scan_next(&r->scan);
    for (int kind = 0; kind < TERN_PLAN_KINDS; kind++) {
        if (kind != TERN_PLAN_BARRIER &&
            tern__scan_is(&r->scan, tern_plan_kind_name((tern_plan_kind)kind))) {
            r->c->kind = (tern_plan_kind)kind;
            return TERN_OK;
        }
    }
    return tern__scan_expected(&r->scan, TERN_ERR_ARG, r->scan.word,
                               "a kind of collective that moves bytes");
}

static int read_scope(struct reader *r)
{
    (void)tern__scan_next(&r->scan);
    for (int scope = 0; scope <= TERN_CERTIFICATE_PREFIX_PLANS; scope++) {
        if (tern__scan_is(&r->scan, tern__certificate_scope_word((tern_certificate_scope)scope))) {
            r->c->scope = (tern_certificate_scope)scope;
            return TERN_OK;
        }
    }
    return tern__scan_expected(&r->scan, TERN_ERR_ARG, r->scan.word,
                               "a scope (all-plans, tree-plans, rank-order-plans, prefix-plans)");
}

static int read_head(struct reader *r)
{
    uint64_t value = 0;
    TERN_TRY(next_line(r));
    TERN_TRY(expect(r, "tern-certificate"));
    TERN_TRY(number(r, "version 1 of the text form", 1, 1, &value));
    TERN_TRY(tern__scan_end(&r->scan));
    TERN_TRY(next_line(r));
    TERN_TRY(expect(r, "kind"));
    TERN_TRY(read_kind(r));
    TERN_TRY(tern__scan_end(&r->scan));
    TERN_TRY(next_line(r));
    TERN_TRY(expect(r, "ranks"));
    TERN_TRY(number(r, "a number of ranks", 1, TERN__NET_RANKS_MAX, &value));
    r->c->ranks = (int)value;
    TERN_TRY(tern__scan_end(&r->scan));
    TERN_TRY(next_line(r));
    if (tern__kind_has_root(r->c->kind)) {
        TERN_TRY(expect(r, "root"));
        TERN_TRY(number(r, "a rank", 0, value - 1, &value));
        r->c->root = (int)value;
        TERN_TRY(tern__scan_end(&r->scan));
        TERN_TRY(next_line(r));
    }
    TERN_TRY(expect(r, "scope"));
    TERN_TRY(read_scope(r));
    return tern__scan_end(&r->scan);
}

// Whether a line may follow another: links ascend, resources come behind and are new.
static bool follows(const tern_certificate *c, const struct tern__price_line *line)
{
    for (int i = 0; line->from < 0 && i < c->count; i++) {
        if (c->lines[i].from < 0 && strcmp(c->lines[i].name, line->name) == 0) {
            return false;
        }
    }
    const struct tern__price_line *last = c->count > 0 ? &c->lines[c->count - 1] : NULL;
    return last == NULL || line->from < 0 ||
           (last->from >= 0 &&
            (last->from < line->from || (last->from == line->from && last->to < line->to)));
}

static int read_price(struct reader *r)
{
    struct tern__price_line line = {.from = -1, .to = -1};
    const char *start = r->scan.word;
    uint64_t value = 0;
    if (tern__scan_is(&r->scan, "link")) {
        TERN_TRY(number(r, "a rank", 0, (uint64_t)r->c->ranks - 1, &value));
        line.from = (int)value;
        TERN_TRY(number(r, "a rank", 0, (uint64_t)r->c->ranks - 1, &value));
        line.to = (int)value;
    } else if (tern__scan_is(&r->scan, "resource")) {
        (void)tern__scan_next(&r->scan);
        if (r->scan.word_length == 0 || r->scan.word_length >= sizeof line.name) {
            return tern__scan_expected(&r->scan, TERN_ERR_ARG, r->scan.word,
                                       "the name of a resource");
        }
        memcpy(line.name, r->scan.word, r->scan.word_length);
    } else {
        return tern__scan_expected(&r->scan, TERN_ERR_ARG, r->scan.word,
                                   "'link', 'resource' or 'end'");
    }
    TERN_TRY(number(r, "a price", 1, (uint64_t)TERN__PRICE_MAX, &value));
    line.price = (int64_t)value;
    TERN_TRY(tern__scan_end(&r->scan));
    if (!follows(r->c, &line) || r->c->count >= TERN__PRICES_MAX) {
        return tern__scan_fail(&r->scan, TERN_ERR_ARG, start,
                               "links must ascend, resources come behind them, and none twice");
    }
    return tern__certificate_add(r->c, &line);
}

static int read_text(struct reader *r)
{
    TERN_TRY(read_head(r));
    TERN_TRY(next_line(r));
    while (!tern__scan_is(&r->scan, "end")) {
        TERN_TRY(read_price(r));
        TERN_TRY(next_line(r));
    }
    TERN_TRY(tern__scan_end(&r->scan));
    while (r->next < r->end) {
        if (next_line(r) == TERN_OK) {
            return tern__scan_fail(&r->scan, TERN_ERR_ARG, r->scan.word,
                                   "nothing may stand behind 'end'");
        }
        break;
    }
    return TERN_OK;
}

static int load(const char *path, tern_certificate **certificate)
{
    if (path == NULL || certificate == NULL) {
        return tern__fail(TERN_ERR_ARG,
                          "tern_certificate_load: path and certificate must not be NULL");
    }
    char *text;
    size_t length;
    TERN_TRY(tern__file_read(path, "certificate", FILE_BYTES_MAX, &text, &length));
    struct reader reader = {.scan = {.name = path}, .next = text, .end = text + length};
    int status = TERN_ERR_MEMORY;
    if ((reader.c = calloc(1, sizeof *reader.c)) != NULL) {
        status = read_text(&reader);
    }
    free(text);
    if (status != TERN_OK) {
        (void)tern_certificate_destroy(reader.c);
        return status;
    }
    *certificate = reader.c;
    return TERN_OK;
}

int tern_certificate_load(const char *path, tern_certificate **certificate)
{
    return TERN__CALL_OF_CALLS(load(path, certificate));
}
