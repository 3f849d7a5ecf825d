// SPDX-License-Identifier: Apache-2.0
// The table that this process uses: its tune file, read when somebody asks for the first time, or
// rows that it was given.

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/public.h"
#include "base/error.h"
#include "base/log.h"
#include "coll/tune.h"
#include "comm/area.h"
#include "tern/comm.h"

_Static_assert(TERN_TUNE_SMALL_MAX == TERN__SLOT_BYTES && TERN_TUNE_CHUNK_MAX == TERN__SLOT_BYTES,
               "one number, two headers");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;            // the variables below say something
static struct tern__tune used; // name "" and no entries: nothing but what is built in
static int failure;            // TERN_OK, or why the file of $TERN_TUNE cannot be used
static char failure_text[TERN_ERROR_BYTES];

// Under the lock.
static void load(void)
{
    char path[4096];
    bool demanded;
    loaded = true;
    if (!tern__tune_place(path, sizeof path, &demanded)) {
        tern__log(tern__log_common(), "no tune file; the built-in table is used");
        return;
    }
    if (!demanded && access(path, F_OK) != 0 && errno != EACCES) {
        tern__log(tern__log_common(), "no tune file %s; the built-in table is used", path);
        return;
    }
    tern__public_enter(); // what is wrong with the file is said once, below
    int status = tern__tune_load(path, &used);
    tern__public_leave();
    if (status == TERN_OK) {
        tern__log(tern__log_common(), "tune file %s, %d rows", used.name, used.count);
    }
    if (status != TERN_OK && demanded) {
        failure = status;
        snprintf(failure_text, sizeof failure_text, "%s (it is named by TERN_TUNE)",
                 tern_last_error());
    } else if (status != TERN_OK) {
        tern__log(TERN__LOG_WARN, "%s; the built-in table is used", tern_last_error());
    }
}

static void lock_loaded(void)
{
    pthread_mutex_lock(&lock);
    if (!loaded) {
        load();
    }
}

static int unlock(void)
{
    int status = failure;
    if (status != TERN_OK) {
        tern__set_error("%s", failure_text);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

// What a row does not say stays as it is built in.
static void choice_of_row(const tern_tune_row *row, struct tern__choice *choice)
{
    memcpy(choice->small, row->small, sizeof choice->small);
    memcpy(choice->window, row->window, sizeof choice->window);
    memcpy(choice->staged, row->staged, sizeof choice->staged);
    choice->small_bytes = row->small_bytes;
    choice->chunk_bytes = row->chunk_bytes;
    // Rows of sums say nothing of that.
    if (row->direct_from != TERN_TUNE_BUILT_IN && tern__choice_reads(row->kind)) {
        choice->direct_from = row->direct_from;
        choice->direct_to = row->direct_to;
        choice->direct_learned = false;
    }
}

int tern__tune_look_up(tern_plan_kind kind, int nranks, struct tern__choice *choice)
{
    struct tern__choice made;
    tern__tune_built_in(kind, nranks, &made);
    lock_loaded();
    const struct tern__tune_entry *entry = tern__tune_find(&used, kind, nranks, 0);
    if (entry != NULL) {
        choice_of_row(&entry->row, &made);
    }
    if (entry != NULL && entry->line > 0) {
        snprintf(made.source, sizeof made.source, "line %d of %.70s", entry->line, used.name);
    } else if (entry != NULL) {
        snprintf(made.source, sizeof made.source, "tern_tune_use");
    }
    TERN_TRY(unlock());
    *choice = made;
    return TERN_OK;
}

// Under the lock: what the table says of calls of the row's order and dtypes.
static struct tern__far_choice look_at(tern_tune_row wanted, uint64_t small_bytes,
                                       const struct tern__tune_entry **said)
{
    const struct tern__tune_entry *entry = tern__tune_find_row(&used, &wanted);
    if (entry == NULL && wanted.halves) {
        wanted.halves = 0;
        entry = tern__tune_find_row(&used, &wanted);
    }
    struct tern__far_choice made = {.small_bytes = small_bytes};
    if (entry != NULL) {
        made.small_bytes = entry->row.small_bytes;
        made.piece_bytes = entry->row.chunk_bytes;
        memcpy(made.large, entry->row.staged, sizeof made.large);
        *said = *said == NULL ? entry : *said;
    }
    return made;
}

int tern__tune_look_far(tern_plan_kind kind, int nranks, int machines, struct tern__choice *choice)
{
    const struct tern__tune_entry *said = NULL;
    uint64_t small_bytes = choice->small_bytes;
    lock_loaded();
    for (int i = 0; i < 4; i++) {
        tern_order order = i / 2 == 0 ? TERN_ORDER_RANK : TERN_ORDER_ANY;
        tern_tune_row wanted = {
            .kind = kind, .nranks = nranks, .machines = machines, .order = order, .halves = i % 2};
        choice->far[order][i % 2] = look_at(wanted, small_bytes, &said);
        small_bytes = choice->far[0][0].small_bytes; // where nothing else is said
    }
    if (said != NULL && !choice->named) {
        snprintf(choice->source, sizeof choice->source,
                 said->line > 0 ? "line %d of %.70s" : "tern_tune_use", said->line, used.name);
    }
    return unlock();
}

int tern__tune_look_cost(int nranks, tern_tune_cost *cost)
{
    const tern_tune_cost *found = NULL;
    lock_loaded();
    for (int i = 0; failure == TERN_OK && i < used.costs_count; i++) {
        const tern_tune_cost *one = &used.costs[i];
        bool fits = one->nranks <= nranks && one->rates_count > 0;
        found = fits && (found == NULL || one->nranks > found->nranks) ? one : found;
    }
    if (found != NULL) {
        *cost = *found;
    }
    TERN_TRY(unlock());
    return found != NULL
               ? TERN_OK
               : tern__fail(TERN_ERR_STATE,
                            "what ops of %d ranks cost on this machine has not been measured: "
                            "'tern tune -p %d' does that",
                            nranks, nranks < TERN_RANKS_MAX ? nranks : TERN_RANKS_MAX);
}

static void row_of_choice(tern_plan_kind kind, int nranks, const struct tern__choice *choice,
                          tern_tune_row *row)
{
    memset(row, 0, sizeof *row);
    row->kind = kind;
    row->nranks = nranks;
    memcpy(row->small, choice->small, sizeof row->small);
    memcpy(row->window, choice->window, sizeof row->window);
    memcpy(row->staged, choice->staged, sizeof row->staged);
    row->small_bytes = choice->small_bytes;
    row->chunk_bytes = choice->chunk_bytes;
    row->direct_from = choice->direct_from;
    row->direct_to = choice->direct_to;
}

static int check_arguments(const char *call, tern_plan_kind kind, int nranks, const void *out)
{
    if (out == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: row must not be NULL", call);
    }
    if (tern_algo_name(kind, 0) == NULL) {
        return tern__fail(TERN_ERR_ARG, "%s: %d is no kind of collective", call, (int)kind);
    }
    if (nranks < 1 || nranks > TERN_RANKS_MAX) {
        return tern__fail(TERN_ERR_ARG, "%s: %d ranks; there are 1 to %d", call, nranks,
                          TERN_RANKS_MAX);
    }
    return TERN_OK;
}

int tern_tune_get(tern_plan_kind kind, int nranks, tern_tune_row *row)
{
    struct tern__choice choice;
    TERN_TRY(check_arguments("tern_tune_get", kind, nranks, row));
    TERN_TRY(tern__tune_look_up(kind, nranks, &choice));
    row_of_choice(kind, nranks, &choice, row);
    return TERN_OK;
}

int tern_tune_get_built_in(tern_plan_kind kind, int nranks, tern_tune_row *row)
{
    struct tern__choice choice;
    TERN_TRY(check_arguments("tern_tune_get_built_in", kind, nranks, row));
    tern__tune_built_in(kind, nranks, &choice);
    row_of_choice(kind, nranks, &choice, row);
    return TERN_OK;
}

int tern_tune_print(const tern_tune_row *row, char *line, size_t size)
{
    unsigned long long from = row->direct_from;
    unsigned long long to = row->direct_to;
    char direct[64] = "";
    if (row->machines > 0) {
        return snprintf(line, size, "%s machines %d ranks %d%s%s slots %llu large %s %llu",
                        tern_plan_kind_name(row->kind), row->machines, row->nranks,
                        row->order == TERN_ORDER_ANY ? " order any" : "",
                        row->halves != 0 ? " halves" : "", (unsigned long long)row->small_bytes,
                        row->staged, (unsigned long long)row->chunk_bytes);
    }
    if (row->direct_from == TERN_TUNE_BUILT_IN) {
        direct[0] = '\0';
    } else if (from != 0 && to != 0) {
        snprintf(direct, sizeof direct, " direct %llu %llu", from, to);
    } else if (from != 0) {
        snprintf(direct, sizeof direct, " direct %llu any", from);
    } else if (tern__choice_reads(row->kind)) {
        snprintf(direct, sizeof direct, " direct off");
    }
    return snprintf(line, size, "%s ranks %d small %s %llu window %s staged %s %llu%s",
                    tern_plan_kind_name(row->kind), row->nranks, row->small,
                    (unsigned long long)row->small_bytes, row->window, row->staged,
                    (unsigned long long)row->chunk_bytes, direct);
}

// Rows are checked by being printed and read: what is refused in a file is refused here.
static int parse_rows(const tern_tune_row *rows, int count, struct tern__tune *made)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "tern_tune_use: no memory");
    }
    fprintf(file, "%s\n", TERN_TUNE_HEAD);
    for (int i = 0; i < count; i++) {
        char line[TERN_TUNE_LINE_BYTES];
        tern_tune_row row = rows[i];
        row.small[sizeof row.small - 1] = '\0';
        row.window[sizeof row.window - 1] = '\0';
        row.staged[sizeof row.staged - 1] = '\0';
        tern_tune_print(&row, line, sizeof line);
        fprintf(file, "%s\n", line);
    }
    bool written = fclose(file) == 0;
    int status = written ? tern__tune_parse(text, length, "tern_tune_use", made)
                         : tern__fail(TERN_ERR_MEMORY, "tern_tune_use: no memory");
    free(text);
    for (int i = 0; status == TERN_OK && i < made->count; i++) {
        made->entries[i].line = 0; // of no file
    }
    return status;
}

static int tune_use(const tern_tune_row *rows, int count)
{
    struct tern__tune made;
    if (count < 0 || (rows == NULL && count > 0)) {
        return tern__fail(TERN_ERR_ARG, "tern_tune_use: %s",
                          count < 0 ? "count is negative" : "rows must not be NULL");
    }
    TERN_TRY(parse_rows(rows, count, &made));
    made.name[0] = '\0';
    pthread_mutex_lock(&lock);
    tern__tune_free(&used);
    used = made;
    loaded = true;
    failure = TERN_OK;
    pthread_mutex_unlock(&lock);
    return TERN_OK;
}

int tern_tune_use(const tern_tune_row *rows, int count)
{
    return TERN__CALL_OF_CALLS(tune_use(rows, count));
}

static int tune_load(const char *path, tern_tune_row **rows, int *count)
{
    struct tern__tune tune;
    if (path == NULL || rows == NULL || count == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_tune_load: path, rows and count must not be NULL");
    }
    TERN_TRY(tern__tune_load(path, &tune));
    tern_tune_row *made = calloc((size_t)tune.count + 1, sizeof *made);
    for (int i = 0; made != NULL && i < tune.count; i++) {
        made[i] = tune.entries[i].row;
    }
    int found = tune.count;
    tern__tune_free(&tune);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory for the tune file '%.200s'", path);
    }
    *rows = made;
    *count = found;
    return TERN_OK;
}

int tern_tune_load(const char *path, tern_tune_row **rows, int *count)
{
    return TERN__CALL_OF_CALLS(tune_load(path, rows, count));
}

int tern_tune_path(char *path, size_t size)
{
    if (path == NULL || size == 0) {
        return tern__fail(TERN_ERR_ARG, "tern_tune_path: no room for a path");
    }
    lock_loaded();
    snprintf(path, size, "%s", used.name);
    return unlock();
}

int tern_tune_default_path(char *path, size_t size)
{
    bool demanded;
    if (path == NULL || size == 0 || !tern__tune_place(path, size, &demanded)) {
        return tern__fail(TERN_ERR_STATE, "there is no place for a tune file: %s",
                          getenv("TERN_TUNE") != NULL
                              ? "TERN_TUNE is empty"
                              : "neither TERN_TUNE, XDG_CONFIG_HOME nor HOME is set");
    }
    return TERN_OK;
}
