// SPDX-License-Identifier: Apache-2.0
// From text to a plan (docs/plan-format.md), line by line. Strict: what is not exactly a plan is
// refused with its line and column. Memory grows with what was read, never with what the text
// claims.

#include <stdlib.h>
#include <string.h>

#include "base/public.h"
#include "base/error.h"
#include "plan/parse.h"

static const char *const header_words[HEADERS] = {"tern-plan", "kind", "ranks",   "bytes", "unit",
                                                  "algorithm", "root", "scratch", "slots"};

// What may come next, for sentences.
static const char *next_words(const struct tern__plan_parser *parser)
{
    static const char *const quoted[] = {"'tern-plan'",
                                         "'kind'",
                                         "'ranks'",
                                         "'bytes'",
                                         "'unit'",
                                         "'algorithm'",
                                         "'root'",
                                         "'scratch', 'slots', 'rank' or 'end'",
                                         "'slots', 'rank' or 'end'"};
    if (parser->ended) {
        return "nothing but comments after 'end'";
    }
    if (parser->next_header < HEADERS) {
        bool rootless = parser->next_header == ROOT && !tern__kind_has_root(parser->spec.kind);
        return quoted[rootless ? SCRATCH : parser->next_header];
    }
    return parser->rank < 0 ? "'rank' or 'end'"
                            : "'copy', 'reduce', 'post', 'wait', 'rank' or 'end'";
}

static int fail_word(const struct tern__plan_parser *parser)
{
    const struct tern__scan *scan = &parser->scan;
    for (int i = 0; i < HEADERS; i++) {
        if (tern__scan_is(scan, header_words[i]) && (parser->seen >> i & 1) != 0) {
            return tern__scan_fail(scan, TERN_ERR_ARG, scan->word,
                                   "expected %s, found a second '%s'", next_words(parser),
                                   header_words[i]);
        }
    }
    if (tern__scan_is(scan, "root") && parser->next_header >= ROOT) {
        return tern__scan_fail(
            scan, TERN_ERR_ARG, scan->word,
            "expected %s, found 'root': only broadcast, reduce, gather and scatter "
            "have one",
            next_words(parser));
    }
    return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "%s", next_words(parser));
}

static int read_version(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    if (!tern__scan_next(scan) || !tern__scan_is(scan, "1")) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "version 1 of the text form");
    }
    return TERN_OK;
}

static int read_kind(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    tern__scan_next(scan);
    char known[128] = "";
    for (int kind = TERN_PLAN_ALL_REDUCE; kind < TERN_PLAN_KINDS; kind++) {
        const char *word = tern_plan_kind_name((tern_plan_kind)kind);
        if (tern__scan_is(scan, word)) {
            parser->spec.kind = (tern_plan_kind)kind;
            return TERN_OK;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", word);
    }
    return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "a kind of collective (%s)", known);
}

static int read_ranks(struct tern__plan_parser *parser)
{
    const struct tern__number ranks = {"a number of ranks", 1, TERN_PLAN_RANKS_MAX, TERN_ERR_LIMIT};
    uint64_t value = 0;
    TERN_TRY(tern__scan_number(&parser->scan, &ranks, &value));
    parser->spec.nranks = (int)value;
    return TERN_OK;
}

static int read_bytes(struct tern__plan_parser *parser)
{
    const struct tern__number bytes = {"a number of bytes", 0, TERN_PLAN_BYTES_MAX, TERN_ERR_LIMIT};
    TERN_TRY(tern__scan_number(&parser->scan, &bytes, &parser->spec.bytes));
    parser->bytes_line = parser->scan.line;
    parser->bytes_column = (size_t)(parser->scan.word - parser->scan.start) + 1;
    return TERN_OK;
}

static int read_unit(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    tern__scan_next(scan);
    if (scan->word_length != 1 || memchr("1248", *scan->word, 4) == NULL) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word,
                                   "the bytes of an element (1, 2, 4 or 8)");
    }
    parser->spec.unit = (uint32_t)(*scan->word - '0');
    return TERN_OK;
}

static bool is_name(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = word[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-')) {
            return false;
        }
    }
    return length > 0;
}

static int read_algorithm(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    tern__scan_next(scan);
    if (scan->word_length >= sizeof parser->algorithm || !is_name(scan->word, scan->word_length)) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word,
                                   "a name of 1 to 31 letters, digits, '_' and '-'");
    }
    memcpy(parser->algorithm, scan->word, scan->word_length);
    parser->spec.algorithm = parser->algorithm;
    return TERN_OK;
}

static int read_root(struct tern__plan_parser *parser)
{
    const struct tern__number root = tern__parse_rank_of(parser, "a rank");
    uint64_t value = 0;
    TERN_TRY(tern__scan_number(&parser->scan, &root, &value));
    parser->spec.root = (int)value;
    return TERN_OK;
}

static int read_scratch(struct tern__plan_parser *parser)
{
    const struct tern__number bytes = {"a number of bytes", 0, TERN_PLAN_BYTES_MAX, TERN_ERR_LIMIT};
    return tern__scan_number(&parser->scan, &bytes, &parser->scratch_bytes);
}

// "slots in", "slots scratch" or "slots in scratch".
static int read_slots(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    if (tern__scan_next(scan) && tern__scan_is(scan, "in")) {
        parser->spec.slots = TERN_PLAN_IN_SLOTS;
        if (!tern__scan_next(scan)) {
            return TERN_OK;
        }
    }
    if (!tern__scan_is(scan, "scratch")) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word, "%s",
                                   parser->spec.slots != 0 ? "'scratch' or the end of the line"
                                                           : "'in', 'scratch' or 'in scratch'");
    }
    parser->spec.slots |= TERN_PLAN_SCRATCH_SLOTS;
    return TERN_OK;
}

static int read_header(struct tern__plan_parser *parser, enum header header)
{
    static int (*const readers[HEADERS])(
        struct tern__plan_parser *) = {read_version, read_kind,    read_ranks,
                                       read_bytes,   read_unit,    read_algorithm,
                                       read_root,    read_scratch, read_slots};
    TERN_TRY(readers[header](parser));
    parser->seen |= 1u << header;
    parser->next_header = (int)header + 1;
    return tern__scan_end(&parser->scan);
}

// All headers are known: what was left to check is how the bytes go with the others.
static int create_plan(struct tern__plan_parser *parser)
{
    int status = tern_plan_create(&parser->spec, &parser->plan);
    if (status == TERN_ERR_ARG || status == TERN_ERR_LIMIT) {
        return tern__fail(status, "%.400s:%zu:%zu: %s", parser->scan.name, parser->bytes_line,
                          parser->bytes_column, tern_last_error());
    }
    TERN_TRY(status);
    parser->next_header = HEADERS;
    return tern_plan_need_scratch(parser->plan, parser->scratch_bytes);
}

// An empty lane exists only below another one: that is all the calls of tern/plan.h can build.
static int check_lane_full(const struct tern__plan_parser *parser, const char *at, const char *word)
{
    if (parser->rank >= 0 && tern_plan_lane_count(parser->plan, parser->rank) <= parser->lane) {
        return tern__scan_fail(&parser->scan, TERN_ERR_ARG, at,
                               "expected an op, since the last lane of a rank is not empty, found "
                               "'%s'",
                               word);
    }
    return TERN_OK;
}

// "rank RANK lane LANE": lanes come in order, without gaps; ranks in order.
static int read_lane(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    const char *first = scan->word;
    const struct tern__number ranks = tern__parse_rank_of(parser, "a rank");
    const struct tern__number lanes = {"a lane", 0, TERN_PLAN_LANES_MAX - 1, TERN_ERR_LIMIT};
    uint64_t rank = 0;
    uint64_t lane = 0;
    TERN_TRY(tern__scan_number(scan, &ranks, &rank));
    if ((int)rank < parser->rank) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word,
                                   "rank %d or a higher one: ranks ascend", parser->rank);
    }
    bool same = (int)rank == parser->rank;
    TERN_TRY(tern__parse_named(scan, "lane", &lanes, &lane));
    int wanted = same ? parser->lane + 1 : 0;
    if ((int)lane != wanted) {
        return tern__scan_expected(scan, TERN_ERR_ARG, scan->word,
                                   "lane %d: the lanes of a rank count up from 0", wanted);
    }
    TERN_TRY(tern__scan_end(scan));
    if (!same) {
        TERN_TRY(check_lane_full(parser, first, "rank"));
    }
    parser->rank = (int)rank;
    parser->lane = (int)lane;
    return TERN_OK;
}

static int read_body(struct tern__plan_parser *parser)
{
    struct tern__scan *scan = &parser->scan;
    if (tern__scan_is(scan, "rank")) {
        return read_lane(parser);
    }
    if (tern__scan_is(scan, "end")) {
        TERN_TRY(check_lane_full(parser, scan->word, "end"));
        parser->ended = true;
        return tern__scan_end(scan);
    }
    for (int kind = TERN_PLAN_COPY; kind <= TERN_PLAN_WAIT && parser->rank >= 0; kind++) {
        if (tern__scan_is(scan, tern__op_kind_name((tern_plan_op_kind)kind))) {
            return tern__parse_op(parser, (tern_plan_op_kind)kind);
        }
    }
    return fail_word(parser);
}

// The header that the line can be, by its first word: of those that may be left out, the one it is.
static enum header header_of(const struct tern__plan_parser *parser)
{
    int header = parser->next_header;
    if (header == ROOT && !tern__kind_has_root(parser->spec.kind)) {
        header = SCRATCH;
    }
    bool slots = header == SCRATCH && tern__scan_is(&parser->scan, header_words[SLOTS]);
    return slots ? SLOTS : (enum header)header;
}

int tern__plan_parser_feed(struct tern__plan_parser *parser, const char *line, size_t length,
                           bool terminated)
{
    struct tern__scan *scan = &parser->scan;
    TERN_TRY(tern__scan_line(scan, line, length, terminated));
    if (!tern__scan_next(scan)) {
        return TERN_OK;
    }
    if (parser->ended) {
        return fail_word(parser);
    }
    if (parser->next_header < HEADERS) {
        enum header header = header_of(parser);
        if (tern__scan_is(scan, header_words[header])) {
            return read_header(parser, header);
        }
        if (header < SCRATCH || !(tern__scan_is(scan, "rank") || tern__scan_is(scan, "end"))) {
            return fail_word(parser);
        }
    }
    if (parser->plan == NULL) {
        TERN_TRY(create_plan(parser));
    }
    return read_body(parser);
}

int tern__plan_parser_finish(struct tern__plan_parser *parser, tern_plan **plan)
{
    if (!parser->ended) {
        return tern__fail(TERN_ERR_ARG, "%.400s:%zu:1: expected %s, found the end of the text",
                          parser->scan.name, parser->scan.line + 1, next_words(parser));
    }
    TERN_TRY(tern_plan_seal(parser->plan));
    *plan = parser->plan;
    parser->plan = NULL;
    return TERN_OK;
}

int tern__plan_parser_create(const char *name, struct tern__plan_parser **parser)
{
    struct tern__plan_parser *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tern__fail(TERN_ERR_MEMORY, "no memory to parse the plan %.400s", name);
    }
    made->scan.name = name;
    made->rank = made->lane = -1;
    *parser = made;
    return TERN_OK;
}

void tern__plan_parser_destroy(struct tern__plan_parser *parser)
{
    if (parser != NULL) {
        tern_plan_destroy(parser->plan);
        free(parser);
    }
}

static int parse_lines(struct tern__plan_parser *parser, const char *text, size_t length)
{
    const char *end = text + length;
    while (text < end) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = stop != NULL ? stop : end;
        TERN_TRY(tern__plan_parser_feed(parser, text, (size_t)(line_end - text), stop != NULL));
        text = line_end + 1;
    }
    return TERN_OK;
}

static int plan_parse(const char *text, size_t length, const char *name, tern_plan **plan)
{
    if (text == NULL || plan == NULL) {
        return tern__fail(TERN_ERR_ARG, "tern_plan_parse: text and plan must not be NULL");
    }
    struct tern__plan_parser *parser = NULL;
    TERN_TRY(tern__plan_parser_create(name != NULL ? name : "text", &parser));
    int status = parse_lines(parser, text, length);
    if (status == TERN_OK) {
        status = tern__plan_parser_finish(parser, plan);
    }
    tern__plan_parser_destroy(parser);
    return status;
}

int tern_plan_parse(const char *text, size_t length, const char *name, tern_plan **plan)
{
    return TERN__CALL_OF_CALLS(plan_parse(text, length, name, plan));
}
