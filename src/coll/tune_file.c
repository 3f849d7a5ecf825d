// SPDX-License-Identifier: Apache-2.0
// The tune file: found, read strictly, and kept for the life of the process. Its form:
//
//     tern-tune 1
//     # KIND ranks N small ALGORITHM BYTES window ALGORITHM staged ALGORITHM CHUNK [direct FROM TO]
//     all_reduce ranks 2 small one_shot 4096 window fused staged staged 65536
//     gather ranks 2 small pull 8192 window direct staged pull 131072 direct 32768 any
//     # KIND machines M ranks N [order rank|any] [halves] slots BYTES large ALGORITHM CHUNK
//     all_reduce machines 2 ranks 4 slots 4096 large chain 2097152
//     all_reduce machines 2 ranks 4 order any slots 4096 large two 2097152
//     # cost ranks N processors P begin NS meet NS op NS post NS wake NS, and rates (tune_cost.c)
//     cost ranks 2 processors 2 begin 310 meet 290 op 41 post 152 wake 0
//     # rate BYTES copy MB/S fresh MB/S reduce MB/S MB/S MB/S MB/S
//     rate 65536 copy 60100 fresh 8200 reduce 20100 30300 60200 60300
//
// One row a line, words separated by blanks, '#' to the end of a line is a comment.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "coll/tune.h"
#include "coll/tune_reader.h"
#include "comm/area.h"
#include "plan/steps.h"
#include "tern/comm.h"

#define FILE_BYTES_MAX 262144
#define ROWS_MAX 1024
#define VERSION "1"
#define DIRECT_MAX (UINT64_C(1) << 40)

static int read_kind(struct tern__tune_reader *r, tern_plan_kind *kind)
{
    char word[64];
    TERN_TRY(tern__tune_read_word(r, "a kind of collective"));
    snprintf(word, sizeof word, "%.*s", tern__tune_shown(r), r->word);
    if (r->length >= sizeof word || tern_plan_kind_parse(word, kind) != TERN_OK) {
        return tern__tune_wrong(r, r->word, "%s", tern_last_error());
    }
    return TERN_OK;
}

// The ranks, evenly on their machines. What only reads inputs finds those of other machines in
// slots of its own, so it is on one.
static void topology_of(const tern_tune_row *row, const char *name, char *word, size_t size)
{
    struct tern__choice built_in;
    tern__tune_built_in(row->kind, row->nranks, &built_in);
    if (row->machines < 2 || strcmp(name, built_in.small) == 0) {
        snprintf(word, size, "mesh:%d", row->nranks);
        return;
    }
    size_t used = (size_t)snprintf(word, size, "machines:");
    for (int m = 0; m < row->machines; m++) {
        int count = row->nranks / row->machines + (m < row->nranks % row->machines);
        used += (size_t)snprintf(word + used, size - used, "%s%d", m > 0 ? "+" : "", count);
    }
}

// Whether the algorithm suits the calls of the row: their order of sums, and so many ranks.
static int check_suits(struct tern__tune_reader *r, const tern_tune_row *row, const char *name)
{
    char word[32 + 3 * TERN_RANKS_MAX];
    tern_topo *topo;
    tern_plan *plan = NULL;
    topology_of(row, name, word, sizeof word);
    TERN_TRY(tern_topo_create(word, &topo));
    uint32_t unit = row->halves ? 2 : 1;
    tern_algo_request request = {.kind = row->kind,
                                 .topo = topo,
                                 .bytes = row->kind == TERN_PLAN_BARRIER
                                              ? 0
                                              : (uint64_t)row->nranks * unit,
                                 .unit = unit,
                                 .order = row->order,
                                 .algorithm = name};
    int status = tern_algo_plan(&request, &plan);
    r->reads = status == TERN_OK && tern__plan_pulls(plan) &&
               tern_plan_buffer_bytes(plan, TERN_PLAN_SCRATCH) == 0;
    tern_plan_destroy(plan);
    tern_topo_destroy(topo);
    return status == TERN_ERR_ARG ? tern__tune_wrong(r, r->word, "%s", tern_last_error()) : status;
}

static int read_algorithm(struct tern__tune_reader *r, const tern_tune_row *row,
                          char name[TERN__ALGO_BYTES])
{
    tern_plan_kind kind = row->kind;
    TERN_TRY(tern__tune_read_word(r, "an algorithm"));
    const char *known = tern__algo_find(kind, r->word, r->length);
    if (known != NULL) {
        snprintf(name, TERN__ALGO_BYTES, "%s", known);
        return check_suits(r, row, name);
    }
    char why[400];
    tern__algo_unknown(kind, r->word, r->length, why, sizeof why);
    return tern__tune_wrong(r, r->word, "%s", why);
}

// "direct off", "direct FROM any" or "direct FROM TO"; without it, what is built in holds.
static int read_direct(struct tern__tune_reader *r, tern_tune_row *row, bool can)
{
    row->direct_from = tern__choice_reads(row->kind) ? TERN_TUNE_BUILT_IN : 0;
    row->direct_to = 0;
    tern__tune_skip_blanks(r);
    if (tern__tune_at_line_end(r)) {
        return TERN_OK;
    }
    const char *back = r->at;
    TERN_TRY(tern__tune_read_word(r, "'direct'"));
    bool said = tern__tune_is_word(r, "direct");
    if (!tern__choice_reads(row->kind) && !said) {
        r->at = back; // to the sentence on the end of the line
        return TERN_OK;
    }
    if (!said) {
        return tern__tune_wrong(r, r->word, "expected 'direct' or the end of the line, not '%.*s'",
                                tern__tune_shown(r), r->word);
    }
    if (!tern__choice_reads(row->kind)) {
        return tern__tune_wrong(r, r->word, "%s cannot go 'direct': %s",
                                tern_plan_kind_name(row->kind),
                                row->kind == TERN_PLAN_BARRIER
                                    ? "it moves nothing"
                                    : "its calls find out what is faster");
    }
    back = r->at;
    TERN_TRY(tern__tune_read_word(r, "'off' or bytes of a share"));
    if (tern__tune_is_word(r, "off")) {
        row->direct_from = 0;
        return TERN_OK;
    }
    r->at = back;
    if (!can) {
        return tern__tune_wrong(r, r->word,
                                "nothing can go 'direct': '%s' and '%s' do more than to read the "
                                "inputs of other ranks",
                                row->window, row->staged);
    }
    TERN_TRY(tern__tune_read_number(r, "'off' or bytes of a share", 1, DIRECT_MAX, 1,
                                    &row->direct_from));
    back = r->at;
    TERN_TRY(tern__tune_read_word(r, "'any' or bytes of a share"));
    if (tern__tune_is_word(r, "any")) {
        return TERN_OK;
    }
    r->at = back;
    return tern__tune_read_number(r, "'any' or bytes of a share", row->direct_from, DIRECT_MAX, 1,
                                  &row->direct_to);
}

// Whether the next word of the line is this one; then it is read.
static bool take_word(struct tern__tune_reader *r, const char *word)
{
    const char *back = r->at;
    tern__tune_skip_blanks(r);
    if (!tern__tune_at_line_end(r) && tern__tune_read_word(r, word) == TERN_OK &&
        tern__tune_is_word(r, word)) {
        return true;
    }
    r->at = back;
    return false;
}

// For which calls a row between machines is: "order any", "halves", both or neither.
static int read_which(struct tern__tune_reader *r, tern_tune_row *row)
{
    bool ordered = take_word(r, "order");
    const char *begin = r->word;
    if (ordered) {
        TERN_TRY(tern__tune_read_word(r, "'rank' or 'any'"));
        row->order = tern__tune_is_word(r, "any") ? TERN_ORDER_ANY : TERN_ORDER_RANK;
        if (row->order == TERN_ORDER_RANK && !tern__tune_is_word(r, "rank")) {
            return tern__tune_wrong(r, r->word, "expected 'rank' or 'any', not '%.*s'",
                                    tern__tune_shown(r), r->word);
        }
    }
    row->halves = take_word(r, "halves");
    begin = ordered ? begin : r->word;
    return (ordered || row->halves) && !tern__kind_facts((int)row->kind)->sums
               ? tern__tune_wrong(r, begin, "%s has no sums: its rows have no order, and no halves",
                                  tern_plan_kind_name(row->kind))
               : TERN_OK;
}

// The rest of a row between machines.
static int read_far(struct tern__tune_reader *r, tern_tune_row *row)
{
    TERN_TRY(tern__tune_read_keyword(r, "slots"));
    TERN_TRY(tern__tune_read_number(r, "bytes", 0, TERN__SLOT_BYTES, 1, &row->small_bytes));
    TERN_TRY(tern__tune_read_keyword(r, "large"));
    TERN_TRY(read_algorithm(r, row, row->staged));
    memcpy(row->window, row->staged, sizeof row->window);
    memcpy(row->small, row->staged, sizeof row->small);
    row->direct_from = TERN_TUNE_BUILT_IN;
    return tern__tune_read_number(r, "bytes of a piece", TERN__CHUNK_MIN, TERN_TUNE_FAR_MAX,
                                  TERN__CHUNK_UNIT, &row->chunk_bytes);
}

// The rest of a row on one machine.
static int read_near(struct tern__tune_reader *r, tern_tune_row *row)
{
    TERN_TRY(tern__tune_read_keyword(r, "small"));
    TERN_TRY(read_algorithm(r, row, row->small));
    TERN_TRY(tern__tune_read_number(r, "bytes", 0, TERN__SLOT_BYTES, 1, &row->small_bytes));
    TERN_TRY(tern__tune_read_keyword(r, "window"));
    TERN_TRY(read_algorithm(r, row, row->window));
    bool can = r->reads;
    TERN_TRY(tern__tune_read_keyword(r, "staged"));
    TERN_TRY(read_algorithm(r, row, row->staged));
    can = can || (r->reads && tern__algo_scales(row->kind, row->staged));
    TERN_TRY(tern__tune_read_number(r, "bytes of a piece", TERN__CHUNK_MIN, TERN__SLOT_BYTES,
                                    TERN__CHUNK_UNIT, &row->chunk_bytes));
    return read_direct(r, row, can);
}

static bool is_alike(const tern_tune_row *a, const tern_tune_row *b)
{
    return a->kind == b->kind && a->order == b->order && a->halves == b->halves;
}

static int refuse_twice(const struct tern__tune_reader *r, const char *begin,
                        const struct tern__tune_entry *entry)
{
    char on[64] = "";
    const tern_tune_row *row = &entry->row;
    if (row->machines > 0) {
        snprintf(on, sizeof on, " on %d machines%s%s", row->machines,
                 row->order == TERN_ORDER_ANY ? ", order any" : "", row->halves ? ", halves" : "");
    }
    return tern__tune_wrong(r, begin, "line %d has a row for %s of %d ranks%s already", entry->line,
                            tern_plan_kind_name(row->kind), row->nranks, on);
}

static int read_row(struct tern__tune_reader *r, const struct tern__tune *tune, tern_tune_row *row)
{
    uint64_t nranks = 0;
    TERN_TRY(read_kind(r, &row->kind));
    const char *begin = r->word;
    uint64_t machines = 0;
    const char *back = r->at;
    TERN_TRY(tern__tune_read_word(r, "ranks"));
    if (tern__tune_is_word(r, "machines")) {
        TERN_TRY(
            tern__tune_read_number(r, "a number of machines", 2, TERN_RANKS_MAX, 1, &machines));
    } else {
        r->at = back;
    }
    row->machines = (int)machines;
    TERN_TRY(tern__tune_read_keyword(r, "ranks"));
    TERN_TRY(tern__tune_read_number(r, "a number of ranks", machines > 1 ? machines : 1,
                                    TERN_RANKS_MAX, 1, &nranks));
    row->nranks = (int)nranks;
    TERN_TRY(machines > 0 ? read_which(r, row) : TERN_OK);
    for (int i = 0; i < tune->count; i++) {
        const struct tern__tune_entry *entry = &tune->entries[i];
        if (is_alike(&entry->row, row) && entry->row.nranks == row->nranks &&
            entry->row.machines == row->machines) {
            return refuse_twice(r, begin, entry);
        }
    }
    TERN_TRY(machines > 0 ? read_far(r, row) : read_near(r, row));
    tern__tune_skip_blanks(r);
    if (!tern__tune_at_line_end(r)) {
        return tern__tune_wrong(r, r->at, "expected the end of the line");
    }
    return TERN_OK;
}

static int read_head(struct tern__tune_reader *r)
{
    if (!tern__tune_next_row(r)) {
        return tern__tune_wrong(r, r->at,
                                "expected 'tern-tune " VERSION "', not the end of the file");
    }
    TERN_TRY(tern__tune_read_keyword(r, "tern-tune"));
    TERN_TRY(tern__tune_read_word(r, "a version"));
    if (r->length != strlen(VERSION) || memcmp(r->word, VERSION, r->length) != 0) {
        return tern__tune_wrong(r, r->word,
                                "this build reads version " VERSION " of tune files, not '%.*s'",
                                tern__tune_shown(r), r->word);
    }
    tern__tune_skip_blanks(r);
    return tern__tune_at_line_end(r) ? TERN_OK
                                     : tern__tune_wrong(r, r->at, "expected the end of the line");
}

// A row of costs, if it is one.
static int read_cost(struct tern__tune_reader *r, struct tern__tune *tune, bool *is_cost)
{
    const char *back = r->at;
    TERN_TRY(tern__tune_read_word(r, "a kind of collective"));
    bool rate = tern__tune_is_word(r, "rate");
    *is_cost = rate || tern__tune_is_word(r, "cost");
    if (!*is_cost) {
        r->at = back;
        return TERN_OK;
    }
    TERN_TRY(rate ? tern__tune_read_rate(r, tune) : tern__tune_read_cost(r, tune));
    tern__tune_skip_blanks(r);
    return tern__tune_at_line_end(r) ? TERN_OK
                                     : tern__tune_wrong(r, r->at, "expected the end of the line");
}

int tern__tune_parse(const char *text, size_t length, const char *name, struct tern__tune *tune)
{
    struct tern__tune_reader r = {
        .name = name, .at = text, .end = text + length, .line_begin = text, .line = 1};
    memset(tune, 0, sizeof *tune);
    snprintf(tune->name, sizeof tune->name, "%s", name);
    int status = read_head(&r);
    while (status == TERN_OK && tern__tune_next_row(&r)) {
        struct tern__tune_entry entry = {.line = r.line};
        bool is_cost;
        status = read_cost(&r, tune, &is_cost);
        if (status == TERN_OK && is_cost) {
            continue;
        }
        status = status == TERN_OK ? read_row(&r, tune, &entry.row) : status;
        if (status == TERN_OK && tune->count == ROWS_MAX) {
            status = tern__tune_wrong(&r, r.line_begin, "more than %d rows", ROWS_MAX);
        }
        size_t count = (size_t)tune->count + 1;
        struct tern__tune_entry *grown =
            status == TERN_OK ? realloc(tune->entries, count * sizeof entry) : NULL;
        if (grown != NULL) {
            tune->entries = grown;
            tune->entries[tune->count++] = entry;
        } else if (status == TERN_OK) {
            status = tern__fail(TERN_ERR_MEMORY, "no memory for the tune file %s", name);
        }
    }
    if (status != TERN_OK) {
        tern__tune_free(tune);
    }
    return status;
}

void tern__tune_free(struct tern__tune *tune)
{
    free(tune->entries);
    free(tune->costs);
    memset(tune, 0, sizeof *tune);
}

int tern__tune_load(const char *path, struct tern__tune *tune)
{
    char *text;
    size_t length;
    int status = tern__file_read(path, "tune file", FILE_BYTES_MAX, &text, &length);
    if (status != TERN_OK) {
        return status == TERN_ERR_SYSTEM ? TERN_ERR_ARG
                                         : status; // whoever named it named it wrongly
    }
    status = tern__tune_parse(text, length, path, tune);
    free(text);
    return status;
}

const struct tern__tune_entry *tern__tune_find_row(const struct tern__tune *tune,
                                                   const tern_tune_row *wanted)
{
    const struct tern__tune_entry *found = NULL;
    for (int i = 0; i < tune->count; i++) {
        const struct tern__tune_entry *entry = &tune->entries[i];
        const tern_tune_row *row = &entry->row;
        bool fits = is_alike(row, wanted) && row->nranks <= wanted->nranks &&
                    row->machines <= wanted->machines &&
                    (row->machines > 0) == (wanted->machines > 0);
        if (fits && (found == NULL || row->machines > found->row.machines ||
                     (row->machines == found->row.machines && row->nranks > found->row.nranks))) {
            found = entry;
        }
    }
    return found;
}

const struct tern__tune_entry *tern__tune_find(const struct tern__tune *tune, tern_plan_kind kind,
                                               int nranks, int machines)
{
    tern_tune_row wanted = {.kind = kind, .nranks = nranks, .machines = machines};
    return tern__tune_find_row(tune, &wanted);
}

bool tern__tune_place(char *path, size_t size, bool *demanded)
{
    const char *named = getenv("TERN_TUNE");
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    *demanded = named != NULL;
    if (named != NULL) {
        length = *named != '\0' ? snprintf(path, size, "%s", named) : -1;
    } else if (config != NULL && *config == '/') { // a relative one is to be ignored, says the XDG
        length = snprintf(path, size, "%s/tern/tune", config);
    } else if (home != NULL && *home == '/') {
        length = snprintf(path, size, "%s/.config/tern/tune", home);
    }
    return length >= 0 && (size_t)length < size;
}
