// SPDX-License-Identifier: Apache-2.0
// Finding the row of a kind on this many ranks: the algorithm for windows, the one for other
// buffers and the size of its pieces, which shares others read where they lie, the algorithm for
// slots, and up to which size slots are quicker.
// What is built in wins unless something is clearly better, so that noise changes nothing.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tern/algo.h"
#include "tern/coll.h"
#include "tune/tune.h"

#define CLEARLY 0.97 // of the time of what is built in
#define LARGEST ((size_t)4 << 20)
#define SAMPLES_A_KIND 1000 // about, to divide the time by

static const size_t large_sizes[] = {(size_t)256 << 10, (size_t)1 << 20, LARGEST};
static const uint64_t chunks[] = {32768, 65536, 131072, 262144};
// Sizes around which slots may stop to be quicker.
static const size_t middle_sizes[] = {512,   1024,  2048,  4096,   8192,
                                      16384, 32768, 65536, 131072, 262144};
// Sizes of a share around which reading others' memory may begin or stop to be quicker than slots.
static const size_t share_sizes[] = {8192,   16384,  32768,   65536,  131072,
                                     262144, 524288, 1048576, 2097152};
enum {
    LARGE = sizeof large_sizes / sizeof large_sizes[0],
    CHUNKS = sizeof chunks / sizeof chunks[0],
    MIDDLE = sizeof middle_sizes / sizeof middle_sizes[0],
    SHARES = sizeof share_sizes / sizeof share_sizes[0],
};

// The logarithm of the geometric mean of a candidate's times.
static double score(const double *times, int points_count)
{
    double sum = 0;
    for (int p = 0; p < points_count; p++) {
        sum += log(times[p]);
    }
    return sum / points_count;
}

int tune_race_rows(struct tune_bench *bench, const tern_tune_row *rows, int count,
                   const struct tune_point *points, int points_count, int *best)
{
    struct tune_candidate candidates[TUNE_CANDIDATES_MAX] = {0};
    double times[TUNE_CANDIDATES_MAX * TUNE_POINTS_MAX];
    int status = TERN_OK;
    *best = 0;
    for (int c = 0; count > 1 && status == TERN_OK && c < count; c++) {
        status = tune_candidate_open(bench, &rows[c], &candidates[c]);
    }
    if (count > 1 && status == TERN_OK) {
        status = tune_race(bench, candidates, count, points, points_count, times);
    }
    double built_in = count > 1 && status == TERN_OK ? score(times, points_count) : 0;
    double least = built_in + log(CLEARLY);
    for (int c = 1; status == TERN_OK && c < count; c++) {
        double own = score(times + c * points_count, points_count);
        if (own < least) {
            least = own;
            *best = c;
        }
    }
    tune_candidates_close(candidates, count);
    return status;
}

int tune_race_chunks(struct tune_bench *bench, const tern_tune_row *row, const uint64_t *sizes,
                     int count, const struct tune_point *points, int points_count,
                     tern_tune_row *best)
{
    tern_tune_row rows[TUNE_CANDIDATES_MAX] = {*row};
    int rows_count = 1, winner;
    for (int i = 0; i < count; i++) {
        if (sizes[i] != row->chunk_bytes) {
            rows[rows_count] = *row;
            rows[rows_count++].chunk_bytes = sizes[i];
        }
    }
    int status = tune_race_rows(bench, rows, rows_count, points, points_count, &winner);
    *best = rows[winner];
    return status;
}

// Whether an algorithm by this name would go this way, with `bytes` bytes.
static bool goes(tern_plan_kind kind, int nranks, const char *name, const char *way)
{
    tern_coll_choice choice;
    bool slot = strcmp(way, "slot") == 0;
    tern_coll call = {.kind = kind,
                      .count = slot ? 128 / (size_t)nranks + 1 : 65536,
                      .dtype = TERN_F32,
                      .op = TERN_SUM,
                      .algorithm = name};
    return tern_coll_select(&call, nranks, strcmp(way, "staged") != 0, &choice) == TERN_OK &&
           (strcmp(choice.way, way) == 0 || (slot && strcmp(choice.way, "line") == 0));
}

// A field of a row, the name of the way that its algorithm is for, and whether `optimal` is tried
// there.
struct way {
    size_t field;
    const char *name;
    bool optimal;
};

// One more row, with this algorithm in the field, when it is another and goes that way.
static void add(const tern_tune_row *row, const struct way *way, const char *name,
                tern_tune_row rows[TUNE_CANDIDATES_MAX], int *count)
{
    if (*count < TUNE_CANDIDATES_MAX && strcmp(name, (const char *)row + way->field) != 0 &&
        goes(row->kind, row->nranks, name, way->name)) {
        rows[*count] = *row;
        snprintf((char *)&rows[*count] + way->field, sizeof row->small, "%s", name);
        ++*count;
    }
}

// Rows like `row`, but with each algorithm that can go this way in its field; the row's own first.
static int vary(const tern_tune_row *row, const struct way *way,
                tern_tune_row rows[TUNE_CANDIDATES_MAX], int *count)
{
    rows[0] = *row;
    *count = 1;
    int status = tern_tune_use(row, 1);
    if (status != TERN_OK) {
        return status;
    }
    for (int i = 0; tern_algo_name(row->kind, i) != NULL; i++) {
        if (!tern_algo_around_cut(row->kind, i) && !tern_algo_across_machines(row->kind, i)) {
            add(row, way, tern_algo_name(row->kind, i), rows, count);
        }
    }
    if (way->optimal) {
        add(row, way, TERN_ALGO_OPTIMAL, rows, count);
    }
    return tern_tune_use(NULL, 0);
}

static int large_points(const struct tune_bench *bench, int windows, struct tune_point *points)
{
    int count = 0;
    for (int i = 0; i < LARGE; i++) {
        if (large_sizes[i] <= bench->bytes_max) {
            points[count++] = (struct tune_point){large_sizes[i], windows};
        }
    }
    return count;
}

static int find_large(struct tune_bench *bench, tern_tune_row *row)
{
    tern_tune_row rows[TUNE_CANDIDATES_MAX];
    struct tune_point points[LARGE];
    int best;
    int count = 0;
    tern_tune_row large = *row; // that knows of nothing else
    large.small_bytes = 0;
    large.direct_from = 0;
    int points_count = large_points(bench, 1, points);
    struct way way = {offsetof(tern_tune_row, window), "window", bench->optimal};
    int status = vary(&large, &way, rows, &count);
    status = status == TERN_OK ? tune_race_rows(bench, rows, count, points, points_count, &best)
                               : status;
    if (status != TERN_OK) {
        return status;
    }
    memcpy(row->window, rows[best].window, sizeof row->window);
    points_count = large_points(bench, 0, points);
    way = (struct way){offsetof(tern_tune_row, staged), "staged", bench->optimal};
    status = vary(&large, &way, rows, &count);
    status = status == TERN_OK ? tune_race_rows(bench, rows, count, points, points_count, &best)
                               : status;
    if (status != TERN_OK) {
        return status;
    }
    memcpy(row->staged, rows[best].staged, sizeof row->staged);
    const tern_tune_row chosen = rows[best];
    tern_tune_row quickest;
    status = tune_race_chunks(bench, &chosen, chunks, CHUNKS, points, points_count, &quickest);
    row->chunk_bytes = status == TERN_OK ? quickest.chunk_bytes : row->chunk_bytes;
    return status;
}

// Whether a call with the algorithms of this row can read others' memory. A row that says so of
// algorithms which cannot would be refused. The variable holds nothing or "off" (tune.c).
static int can_go_direct(const struct tune_bench *bench, const tern_tune_row *never, bool *can)
{
    tern_coll_choice choice;
    tern_coll call = {.kind = never->kind, .count = LARGEST, .dtype = TERN_F32};
    bool off = getenv("TERN_DIRECT") != NULL;
    setenv("TERN_DIRECT", "1", 1); // from one byte on
    int status = tern_tune_use(never, 1);
    status = status == TERN_OK ? tern_coll_select(&call, bench->nranks, 0, &choice) : status;
    if (off) {
        setenv("TERN_DIRECT", "off", 1);
    } else {
        unsetenv("TERN_DIRECT");
    }
    *can = status == TERN_OK && strcmp(choice.way, "direct") == 0;
    int restored = tern_tune_use(NULL, 0);
    return status == TERN_OK ? restored : status;
}

// From which share on others' memory is read, and up to which: the interval with the most to gain.
static int find_direct(struct tune_bench *bench, tern_tune_row *row)
{
    const tern_kind_facts *facts = tern_coll_kind_facts(row->kind);
    bool shares = facts->in == TERN_KIND_ALL || facts->out == TERN_KIND_ALL;
    struct tune_candidate candidates[2] = {0};
    struct tune_point points[SHARES];
    double times[2 * SHARES];
    int count = 0;
    tern_tune_row never = *row;
    never.small_bytes = 0;
    never.direct_from = 0;
    tern_tune_row always = never;
    always.direct_from = 1;
    always.direct_to = 0;
    for (int i = 0; i < SHARES; i++) {
        size_t bytes = share_sizes[i] * (shares ? (size_t)bench->nranks : 1);
        if (bytes <= bench->bytes_max) {
            points[count++] = (struct tune_point){bytes, 0};
        }
    }
    bool can;
    int status = can_go_direct(bench, &never, &can);
    if (status != TERN_OK || !can) {
        row->direct_from = 0;
        row->direct_to = 0;
        return status;
    }
    if (getenv("TERN_DIRECT") != NULL) { // not to be tried
        return TERN_OK;
    }
    status = tune_candidate_open(bench, &never, &candidates[0]);
    status = status == TERN_OK ? tune_candidate_open(bench, &always, &candidates[1]) : status;
    status = status == TERN_OK ? tune_race(bench, candidates, 2, points, count, times) : status;
    tune_candidates_close(candidates, 2);
    double most = 0;
    double built_in = 0;
    tern_tune_row best = never;
    for (int first = 0; status == TERN_OK && first < count; first++) {
        double gain = 0;
        for (int last = first; last < count; last++) {
            gain += log(times[last] / times[count + last]);
            if (gain > most) {
                most = gain;
                best.direct_from = share_sizes[first];
                best.direct_to = last + 1 < count ? share_sizes[last] : 0;
            }
        }
    }
    for (int i = 0; status == TERN_OK && i < count; i++) {
        bool reads = row->direct_from != 0 && share_sizes[i] >= row->direct_from &&
                     (row->direct_to == 0 || share_sizes[i] <= row->direct_to);
        built_in += reads ? log(times[i] / times[count + i]) : 0;
    }
    if (status == TERN_OK && most - built_in > -log(CLEARLY) * count) {
        row->direct_from = best.direct_from;
        row->direct_to = best.direct_to;
    }
    return status;
}

int tune_find_switch(struct tune_bench *bench, const tern_tune_row *all, const tern_tune_row *none,
                     uint64_t *small_bytes)
{
    struct tune_candidate candidates[2] = {0};
    struct tune_point points[2 * MIDDLE];
    double times[2 * 2 * MIDDLE];
    for (int i = 0; i < MIDDLE; i++) {
        points[i] = (struct tune_point){middle_sizes[i], 0};
        points[MIDDLE + i] = (struct tune_point){middle_sizes[i], 1};
    }
    int status = tune_candidate_open(bench, all, &candidates[0]);
    status = status == TERN_OK ? tune_candidate_open(bench, none, &candidates[1]) : status;
    status =
        status == TERN_OK ? tune_race(bench, candidates, 2, points, 2 * MIDDLE, times) : status;
    tune_candidates_close(candidates, 2);
    double gain = 0; // of slots up to this size over none at all
    double most = 0;
    uint64_t found = 0;
    double built_in = 0;
    for (int i = 0; status == TERN_OK && i < MIDDLE; i++) {
        for (int half = 0; half < 2; half++) {
            int at = half * MIDDLE + i;
            gain += log(times[2 * MIDDLE + at] / times[at]);
        }
        built_in = middle_sizes[i] <= *small_bytes ? gain : built_in;
        if (gain > most) {
            most = gain;
            found = middle_sizes[i];
        }
    }
    if (status == TERN_OK && most > built_in - log(CLEARLY)) {
        *small_bytes = found;
    }
    return status;
}

// Which algorithm for slots, and up to which size.
static int find_small(struct tune_bench *bench, tern_tune_row *row)
{
    tern_tune_row rows[TUNE_CANDIDATES_MAX];
    struct tune_point points[4]; // 512 to 4096 bytes
    int best;
    tern_tune_row all_small = *row;
    tern_tune_row none_small = *row;
    all_small.small_bytes = TERN_TUNE_SMALL_MAX;
    none_small.small_bytes = 0;
    for (int i = 0; i < 4; i++) {
        points[i] = (struct tune_point){middle_sizes[i], 0};
    }
    int count = 0;
    const struct way slot = {offsetof(tern_tune_row, small), "slot", false};
    int status = vary(&all_small, &slot, rows, &count);
    status = status == TERN_OK ? tune_race_rows(bench, rows, count, points, 4, &best) : status;
    if (status != TERN_OK) {
        return status;
    }
    memcpy(row->small, rows[best].small, sizeof row->small);
    return tune_find_switch(bench, &rows[best], &none_small, &row->small_bytes);
}

// Both rows once more, over all sizes. *gain: the geometric mean of what the new one is quicker by;
// the least and the most of it.
static int compare(struct tune_bench *bench, const tern_tune_row *before, const tern_tune_row *row,
                   double gain[3])
{
    static const size_t sizes[] = {256,    4096, 16384, 65536, (size_t)256 << 10, (size_t)1 << 20,
                                   LARGEST};
    struct tune_candidate candidates[2] = {0};
    struct tune_point points[TUNE_POINTS_MAX];
    double times[2 * TUNE_POINTS_MAX];
    int count = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int windows = 0; windows < 2 && sizes[i] <= bench->bytes_max; windows++) {
            points[count++] = (struct tune_point){sizes[i], windows};
        }
    }
    int status = tune_candidate_open(bench, before, &candidates[0]);
    status = status == TERN_OK ? tune_candidate_open(bench, row, &candidates[1]) : status;
    status = status == TERN_OK ? tune_race(bench, candidates, 2, points, count, times) : status;
    tune_candidates_close(candidates, 2);
    gain[0] = 0;
    gain[1] = INFINITY;
    gain[2] = 0;
    for (int i = 0; status == TERN_OK && i < count; i++) {
        double ratio = times[i] / times[count + i];
        gain[0] += log(ratio) / count;
        gain[1] = ratio < gain[1] ? ratio : gain[1];
        gain[2] = ratio > gain[2] ? ratio : gain[2];
    }
    gain[0] = exp(gain[0]);
    return status;
}

static bool same(const tern_tune_row *a, const tern_tune_row *b)
{
    return strcmp(a->small, b->small) == 0 && strcmp(a->window, b->window) == 0 &&
           strcmp(a->staged, b->staged) == 0 && a->small_bytes == b->small_bytes &&
           a->chunk_bytes == b->chunk_bytes && a->direct_from == b->direct_from &&
           a->direct_to == b->direct_to;
}

static int find_near(struct tune_bench *bench, tern_tune_row *row)
{
    int status = find_large(bench, row);
    bool sums = tern_coll_kind_facts(row->kind)->sums;
    status = status == TERN_OK && !sums ? find_direct(bench, row) : status;
    return status == TERN_OK ? find_small(bench, row) : status;
}

static void tell(const tern_tune_row *row, bool better, bool changed, const double gain[3])
{
    fprintf(stderr, "%s, %d ranks%s%s: ", tern_plan_kind_name(row->kind), row->nranks,
            row->order == TERN_ORDER_ANY ? ", order any" : "", row->halves ? ", halves" : "");
    if (better) {
        fprintf(stderr, "%.2f x as fast as what is built in (%.2f to %.2f)\n", gain[0], gain[1],
                gain[2]);
    } else {
        fprintf(stderr, "what is built in is as good as anything%s\n",
                changed ? ", measured a second time" : "");
    }
}

// The row of the kind; between machines, of calls of this order and of halves.
static int measure_row(struct tune_bench *bench, tern_tune_row built_in, FILE *rows)
{
    tern_tune_row row;
    double gain[3] = {1, 1, 1};
    char line[TERN_TUNE_LINE_BYTES];
    bool far = bench->machines > 0;
    int status = far ? tune_far_built_in(bench, &built_in)
                     : tern_tune_get_built_in(built_in.kind, bench->nranks, &built_in);
    row = built_in;
    status = status != TERN_OK ? status : far ? tune_find_far(bench, &row) : find_near(bench, &row);
    bool changed = !same(&row, &built_in);
    status = status == TERN_OK && changed ? compare(bench, &built_in, &row, gain) : status;
    if (status != TERN_OK) {
        return status;
    }
    bool better = changed && gain[0] > 1 / CLEARLY;
    tern_tune_print(better ? &row : &built_in, line, sizeof line);
    if (bench->rank == 0) {
        fprintf(rows, "%s\n", line);
        tell(&built_in, better, changed, gain);
    }
    return TERN_OK;
}

static int measure_kind(struct tune_bench *bench, tern_plan_kind kind, FILE *rows)
{
    const tern_tune_row all[] = {{.kind = kind},
                                 {.kind = kind, .halves = 1},
                                 {.kind = kind, .order = TERN_ORDER_ANY}};
    int count = bench->machines > 0 && tern_coll_kind_facts(kind)->sums ? 3 : 1;
    int status = TERN_OK;
    for (int i = 0; status == TERN_OK && i < count; i++) {
        status = measure_row(bench, all[i], rows);
    }
    return status;
}

int tune_measure(tern_comm *world, const struct tune_wish *wish, FILE *rows)
{
    struct tune_bench bench;
    int kinds = 0;
    for (int k = 0; k < TERN_PLAN_KINDS; k++) {
        kinds += wish->kinds[k];
    }
    double slice_s = wish->seconds / wish->nranks_count / (kinds > 0 ? kinds : 1) / SAMPLES_A_KIND;
    size_t bytes_max = tern_comm_size(world) <= 16 ? LARGEST : LARGEST / 4;
    int status = tune_bench_open(world, slice_s, bytes_max, &bench);
    for (int k = 0; status == TERN_OK && k < TERN_PLAN_KINDS; k++) {
        if (wish->kinds[k]) {
            status = tune_look_at_search(&bench, wish, (tern_plan_kind)k, &bench.optimal);
            status = status == TERN_OK ? measure_kind(&bench, (tern_plan_kind)k, rows) : status;
        }
    }
    if (status == TERN_OK && wish->costs && bench.machines == 0) {
        status = tune_measure_costs(&bench, wish, rows);
    }
    tune_bench_close(&bench);
    return status;
}
