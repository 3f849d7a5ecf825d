// SPDX-License-Identifier: Apache-2.0
// The tune file, TERN_ALGO and the built-in table: what is read, what is refused and with which
// sentence, and who decides when several speak.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coll/tune.h"
#include "comm/area.h"
#include "support/ranks.h"

#define ROW "all_reduce ranks 2 small one_shot 4096 window fused staged staged 65536\n"

static tern_plan_kind kind_of(const char *word)
{
    tern_plan_kind kind = TERN_PLAN_BARRIER;
    assert_int_equal(tern_plan_kind_parse(word, &kind), TERN_OK);
    return kind;
}

static void a_file_is_read(void **state)
{
    static const char text[] =
        "# head\n\n  tern-tune\t1 # version\n" ROW
        "broadcast ranks 8 small direct 0 window fused staged direct 1024"
        "# no blank needed\n\t\n#\nall_reduce  ranks 5  small one_shot 262144 "
        "window  two_shot staged staged 262144";
    struct tern__tune tune;
    assert_int_equal(tern__tune_parse(text, strlen(text), "t", &tune), TERN_OK);
    assert_int_equal(tune.count, 3);
    assert_string_equal(tune.name, "t");
    const struct tern__tune_entry *entry = tern__tune_find(&tune, kind_of("all_reduce"), 2, 0);
    assert_int_equal(entry->line, 4);
    assert_string_equal(entry->row.small, "one_shot");
    assert_true(entry->row.small_bytes == 4096 && entry->row.chunk_bytes == 65536);
    assert_string_equal(entry->row.window, "fused");
    assert_string_equal(entry->row.staged, "staged");
    // A row holds up to the next one of its kind, and never below.
    assert_ptr_equal(tern__tune_find(&tune, kind_of("all_reduce"), 4, 0), entry);
    assert_int_equal(tern__tune_find(&tune, kind_of("all_reduce"), 5, 0)->line, 8);
    assert_int_equal(tern__tune_find(&tune, kind_of("all_reduce"), 64, 0)->line, 8);
    assert_null(tern__tune_find(&tune, kind_of("all_reduce"), 1, 0));
    assert_null(tern__tune_find(&tune, kind_of("broadcast"), 7, 0));
    assert_null(tern__tune_find(&tune, kind_of("gather"), 8, 0));
    tern__tune_free(&tune);
}

#define ANY_ROW "all_reduce machines 2 ranks 4 order any halves slots 64 large two 1048576\n"
#define FAR_ROW "all_reduce machines 2 ranks 4 slots 8192 large chain 1048576\n"

static void rows_between_machines_are_read(void **state)
{
    static const char text[] =
        "tern-tune 1\n" ROW FAR_ROW "all_reduce machines 2 ranks 7 slots 0 large two_raw 65536\n"
        "all_reduce machines 3 ranks 3 slots 0 large one_shot 65536\n"
        "broadcast machines 2 ranks 2 slots 1 large chain 2097152\n" ANY_ROW
        "all_reduce machines 2 ranks 4 order rank halves slots 1 large two_raw 65536\n";
    struct tern__tune tune;
    tern_plan_kind kind = kind_of("all_reduce");
    char line[TERN_TUNE_LINE_BYTES];
    assert_int_equal(tern__tune_parse(text, strlen(text), "t", &tune), TERN_OK);
    assert_int_equal(tern__tune_find(&tune, kind, 8, 0)->line, 2); // one machine
    assert_int_equal(tern__tune_find(&tune, kind, 4, 2)->line, 3);
    assert_int_equal(tern__tune_find(&tune, kind, 6, 2)->line, 3);
    assert_int_equal(tern__tune_find(&tune, kind, 8, 2)->line, 4);
    assert_int_equal(tern__tune_find(&tune, kind, 8, 4)->line, 5);
    assert_null(tern__tune_find(&tune, kind, 3, 2));
    assert_null(tern__tune_find(&tune, kind_of("gather"), 8, 2));
    tern_tune_print(&tern__tune_find(&tune, kind, 4, 2)->row, line, sizeof line);
    assert_string_equal(strcat(line, "\n"), FAR_ROW);
    tern_tune_row wanted = {.kind = kind, .nranks = 5, .machines = 2, .halves = 1};
    assert_int_equal(tern__tune_find_row(&tune, &wanted)->line, 8);
    wanted.order = TERN_ORDER_ANY;
    assert_int_equal(tern__tune_find_row(&tune, &wanted)->line, 7);
    tern_tune_print(&tern__tune_find_row(&tune, &wanted)->row, line, sizeof line);
    assert_string_equal(strcat(line, "\n"), ANY_ROW);
    wanted.halves = 0;
    assert_null(tern__tune_find_row(&tune, &wanted));
    tern__tune_free(&tune);
}

#define HEAD "tern-tune 1\n"

// A text, and what must be said about it.
static const struct damage {
    const char *text;
    const char *said;
} damages[] = {
    {"", "t:1:1: expected 'tern-tune 1', not the end of the file"},
    {"# only\n#comments", "t:2:10: expected 'tern-tune 1', not the end"},
    {ROW, "t:1:1: expected 'tern-tune', not 'all_reduce'"},
    {"tern-tune", "t:1:10: the line ends; expected: a version"},
    {"tern-tune 2\n", "t:1:11: this build reads version 1 of tune files, not '2'"},
    {"tern-tune 1 1\n", "t:1:13: expected the end of the line"},
    {HEAD "all_redduce ranks 2", "t:2:1: 'all_redduce' is no kind of collective"},
    {HEAD "all_reduce machines 1 ranks 4", "t:2:21: expected a number of machines from 2 to 64"},
    {HEAD "all_reduce machines 3 ranks 2", "expected a number of ranks from 3 to 64, not '2'"},
    {HEAD "all_reduce machines 2 ranks 4 small", "expected 'slots', not 'small'"},
    {HEAD "all_reduce machines 2 ranks 4 slots 1 large two 65536",
     "t:2:45: two cannot do this all_reduce: its sums are not in the order of the ranks"},
    {HEAD "all_reduce machines 2 ranks 4 slots 1 large fused 65536",
     "fused cannot do this all_reduce over machines:2+2: rank 0 would need the memory of rank 2"},
    {HEAD "all_reduce machines 2 ranks 4 slots 1 large chain 2097216",
     "bytes of a piece from 1024 to 2097152"},
    {HEAD "all_reduce ranks 4 small chain 1", "t:2:26: chain cannot do this all_reduce"},
    {HEAD FAR_ROW FAR_ROW, "line 2 has a row for all_reduce of 4 ranks on 2 machines already"},
    {HEAD ANY_ROW ANY_ROW,
     "line 2 has a row for all_reduce of 4 ranks on 2 machines, order any, halves already"},
    {HEAD "all_reduce machines 2 ranks 4 order all slots 1",
     "t:2:37: expected 'rank' or 'any', not 'all'"},
    {HEAD "all_reduce machines 2 ranks 4 halves slots 1 large chain 65536",
     "its sums are in the order of the ranks but rounded once a machine"},
    {HEAD "broadcast machines 2 ranks 4 order any slots 1 large one 65536",
     "t:2:30: broadcast has no sums: its rows have no order, and no halves"},
    {HEAD "gather machines 2 ranks 4 halves slots 1", "t:2:27: gather has no sums"},
    {HEAD "all_reduce ranks 4 order any small", "expected 'small', not 'order'"},
    {HEAD "all_reduce rank 2", "t:2:12: expected 'ranks', not 'rank'"},
    {HEAD "all_reduce ranks", "t:2:17: the line ends; expected: a number of ranks"},
    {HEAD "all_reduce ranks 0", "t:2:18: expected a number of ranks from 1 to 64, not '0'"},
    {HEAD "all_reduce ranks 65", "from 1 to 64, not '65'"},
    {HEAD "all_reduce ranks -1", "from 1 to 64, not '-1'"},
    {HEAD "all_reduce ranks 2x", "from 1 to 64, not '2x'"},
    {HEAD "all_reduce ranks 18446744073709551618", "t:2:18: expected a number"},
    {HEAD "all_reduce ranks 2 small best 1", "t:2:26: there is no algorithm 'best' for all_reduce; "
                                             "there are fused, one_shot"},
    {HEAD "all_reduce ranks 2 small ring 1", "t:2:26: ring cannot do this all_reduce"},
    {HEAD "all_reduce ranks 2 small cut_small 1", "t:2:26: cut_small cannot do this"},
    {HEAD "all_reduce ranks 2 small one_shot 262145", "from 0 to 262144, not '262145'"},
    {HEAD "all_reduce ranks 2 small one_shot 1 windows", "expected 'window', not 'windows'"},
    {HEAD "all_reduce ranks 2 small one_shot 1 window fused staged staged 1000",
     "t:2:64: expected bytes of a piece from 1024 to 262144 and a multiple of 64, not '1000'"},
    {HEAD "all_reduce ranks 2 small one_shot 1 window fused staged staged 1025", "not '1025'"},
    {HEAD "all_reduce ranks 2 small one_shot 1 window fused staged staged 262208", "not '262208'"},
    {HEAD "all_reduce ranks 2 small one_shot 1 window fused staged staged",
     "t:2:63: the line ends; expected: bytes of a piece"},
    {HEAD "all_reduce ranks 2 small one_shot 1 window fused staged staged 1024 9",
     "t:2:69: expected the end of the line"},
    {HEAD ROW "\n" ROW, "t:4:1: line 2 has a row for all_reduce of 2 ranks already"},
    {HEAD "all_\x80reduce", "t:2:5: byte 0x80 does not belong into a tune file"},
    {HEAD "all_reduce\r\n", "t:2:11: byte 0x0d"},
};

static void damaged_files_are_refused_with_the_place(void **state)
{
    struct tern__tune tune;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        int status = tern__tune_parse(damages[i].text, strlen(damages[i].text), "t", &tune);
        if (status != TERN_ERR_ARG || strstr(tern_last_error(), damages[i].said) == NULL) {
            fail_msg("'%s': status %d, '%s', not '%s'", damages[i].text, status, tern_last_error(),
                     damages[i].said);
        }
    }
    assert_int_equal(tern__tune_parse(HEAD "\0", strlen(HEAD) + 1, "t", &tune), TERN_ERR_ARG);
    assert_non_null(strstr(tern_last_error(), "t:2:1: byte 0x00"));
}

// Every beginning of a file is either read or refused with a place in it; nothing is read behind
// it.
static void every_beginning_is_handled(void **state)
{
    static const char text[] = HEAD ROW "barrier ranks 64 small direct 0 window direct staged "
                                        "direct 65536\n";
    int refused = 0;
    for (size_t length = 0; length <= strlen(text); length++) {
        struct tern__tune tune;
        char *exact = malloc(length + (length == 0));
        memcpy(exact, text, length);
        int status = tern__tune_parse(exact, length, "t", &tune);
        if (status == TERN_OK) {
            tern__tune_free(&tune);
        } else {
            int line = 0;
            int column = 0;
            assert_int_equal(status, TERN_ERR_ARG);
            assert_int_equal(sscanf(tern_last_error(), "t:%d:%d:", &line, &column), 2);
            assert_in_range(line, 1, 3);
            assert_in_range(column, 1, 100);
            refused++;
        }
        free(exact);
    }
    assert_true(refused > 100);
}

// What is built in names algorithms that exist and suit every rank count, and goes through a file.
static void built_in_rows_can_be_written_and_read(void **state)
{
    static const int counts[] = {1, 2, 3, 4, 5, 8, 16, 64};
    for (int k = 0; k < TERN_PLAN_KINDS; k++) {
        for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
            tern_tune_row row;
            char text[TERN_TUNE_LINE_BYTES + 16];
            struct tern__tune tune;
            assert_int_equal(tern_tune_get_built_in((tern_plan_kind)k, counts[i], &row), TERN_OK);
            int head = snprintf(text, sizeof text, "%s\n", TERN_TUNE_HEAD);
            int length = tern_tune_print(&row, text + head, sizeof text - (size_t)head);
            assert_in_range(length, 40, TERN_TUNE_LINE_BYTES - 1);
            if (tern__tune_parse(text, strlen(text), "t", &tune) != TERN_OK) {
                fail_msg("%s: %s", text, tern_last_error());
            }
            assert_memory_equal(&tune.entries[0].row, &row, sizeof row);
            tern__tune_free(&tune);
        }
    }
}

// The table of a process is read once, so each case has a process of its own.
struct settings {
    const char *algo;   // TERN_ALGO
    const char *tune;   // TERN_TUNE
    const char *config; // XDG_CONFIG_HOME
    const char *home;
};

static void set(const char *name, const char *value)
{
    if (value != NULL) {
        setenv(name, value, 1);
    } else {
        unsetenv(name);
    }
}

static int in_process(const struct settings *settings, int (*body)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        set("TERN_ALGO", settings->algo);
        set("TERN_TUNE", settings->tune);
        set("XDG_CONFIG_HOME", settings->config);
        set("HOME", settings->home);
        _exit(body());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

#define SAYS(words)                                                                                \
    do {                                                                                           \
        if (strstr(tern_last_error(), words) == NULL) {                                            \
            fprintf(stderr, "%s:%d: '%s' does not say '%s'\n", __FILE__, __LINE__,                 \
                    tern_last_error(), words);                                                     \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static struct tern__choice choice;

static int choose(const char *kind, int nranks, const char *algorithm)
{
    return tern__select(kind_of(kind), nranks, TERN_ORDER_RANK, algorithm, &choice);
}

static bool all_are(const char *name)
{
    return strcmp(choice.small, name) == 0 && strcmp(choice.window, name) == 0 &&
           strcmp(choice.staged, name) == 0;
}

static int without_anything(void)
{
    CHECK(choose("all_reduce", 2, NULL) == TERN_OK);
    CHECK(strcmp(choice.window, "fused") == 0 && !choice.named);
    CHECK(strcmp(choice.source, "built in") == 0);
    CHECK(choice.small_bytes > 0 && choice.small_bytes <= TERN__SLOT_BYTES);
    CHECK(choose("all_reduce", 2, "tree") == TERN_OK);
    CHECK(all_are("tree") && choice.named && strcmp(choice.source, "the call names it") == 0);
    CHECK(choose("broadcast", 2, "ring") == TERN_ERR_ARG);
    SAYS("there is no algorithm 'ring' for broadcast; there are ");
    return 0;
}

static int with_one_algorithm(void)
{
    CHECK(choose("all_reduce", 3, NULL) == TERN_OK && all_are("ring") && choice.named);
    CHECK(strcmp(choice.source, "TERN_ALGO=ring") == 0);
    CHECK(choose("all_gather", 3, NULL) == TERN_OK && all_are("ring"));
    CHECK(choose("broadcast", 3, NULL) == TERN_OK && !choice.named);
    CHECK(choose("all_reduce", 3, "tree") == TERN_OK && all_are("tree"));
    return 0;
}

static int with_a_list(void)
{
    CHECK(choose("all_reduce", 3, NULL) == TERN_OK && all_are("ring"));
    CHECK(choose("broadcast", 3, NULL) == TERN_OK && all_are("tree"));
    CHECK(choose("barrier", 3, NULL) == TERN_OK && all_are("tree"));
    CHECK(choose("all_gather", 3, NULL) == TERN_OK && !choice.named);
    return 0;
}

static int with_words(const char *kind, const char *said)
{
    CHECK(choose(kind, 3, NULL) == TERN_ERR_ARG);
    SAYS(said);
    return 0;
}

static int with_a_wrong_kind(void)
{
    return with_words("barrier", "TERN_ALGO: 'all_redduce' is no kind of collective");
}

static int with_a_wrong_algorithm(void)
{
    return with_words("barrier", "TERN_ALGO: no kind of collective has an algorithm 'rung'");
}

static int with_another_kinds_algorithm(void)
{
    return with_words("barrier",
                      "TERN_ALGO: there is no algorithm 'ring' for broadcast; there are");
}

static int with_a_comma(void)
{
    return with_words("barrier", "TERN_ALGO ends with a comma");
}

static void the_environment_names_algorithms(void **state)
{
    static const struct {
        const char *algo;
        int (*work)(void);
    } cases[] = {{NULL, without_anything},
                 {"", without_anything},
                 {"ring", with_one_algorithm},
                 {"all_reduce:ring,tree", with_a_list},
                 {"tree,all_reduce:ring", with_a_list},
                 {"all_redduce:ring", with_a_wrong_kind},
                 {"ring,rung", with_a_wrong_algorithm},
                 {"broadcast:ring", with_another_kinds_algorithm},
                 {"ring,", with_a_comma}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct settings s = {.tune = "", .algo = cases[i].algo};
        assert_int_equal(in_process(&s, cases[i].work), 0);
    }
}

static char folder[64];

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int from_a_file(void)
{
    char path[1024];
    tern_tune_row row;
    CHECK(choose("all_reduce", 4, NULL) == TERN_OK && !choice.named);
    CHECK(strcmp(choice.window, "two_shot") == 0 && choice.small_bytes == 77);
    CHECK(strncmp(choice.source, "line 2 of ", 10) == 0);
    CHECK(choose("all_reduce", 2, NULL) == TERN_OK && strcmp(choice.source, "built in") == 0);
    CHECK(choose("all_reduce", 4, "fused") == TERN_OK && all_are("fused"));
    CHECK(choice.small_bytes == 77 && choice.chunk_bytes == 2048);
    CHECK(tern_tune_path(path, sizeof path) == TERN_OK && strstr(choice.source, path) == NULL);
    CHECK(strncmp(path, folder, strlen(folder)) == 0);
    CHECK(tern_tune_get(kind_of("all_reduce"), 9, &row) == TERN_OK);
    CHECK(row.nranks == 9 && row.small_bytes == 77 && strcmp(row.window, "two_shot") == 0);
    return 0;
}

static int from_nowhere(void)
{
    char path[1024] = "x";
    CHECK(choose("all_reduce", 4, NULL) == TERN_OK && strcmp(choice.source, "built in") == 0);
    CHECK(tern_tune_path(path, sizeof path) == TERN_OK && path[0] == '\0');
    return 0;
}

static int from_a_damaged_file(void)
{
    char path[1024];
    for (int i = 0; i < 2; i++) { // not only the first time
        CHECK(choose("all_reduce", 4, NULL) == TERN_ERR_ARG);
        SAYS("/bad:2:1: 'nonsense' is no kind of collective");
        SAYS("named by TERN_TUNE");
        CHECK(tern_tune_path(path, sizeof path) == TERN_ERR_ARG);
        CHECK(choose("all_reduce", 4, "fused") == TERN_ERR_ARG);
    }
    CHECK(tern_tune_use(NULL, 0) == TERN_OK); // instead of the file
    CHECK(choose("all_reduce", 4, NULL) == TERN_OK && strcmp(choice.source, "built in") == 0);
    return 0;
}

static int from_a_missing_file(void)
{
    CHECK(choose("all_reduce", 4, NULL) == TERN_ERR_ARG);
    SAYS("/none: No such file");
    return 0;
}

static int from_a_folder(void)
{
    CHECK(choose("all_reduce", 4, NULL) == TERN_ERR_ARG);
    SAYS("is a folder, not a file");
    return 0;
}

static void the_file_is_found(void **state)
{
    char good[128];
    char bad[128];
    char config[128];
    char home[128];
    char none[128];
    const char *row = "all_reduce ranks 3 small one_shot 77 window two_shot staged staged 2048\n";
    char text[256];
    snprintf(folder, sizeof folder, "/tmp/tern-tune-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(good, sizeof good, "%s/good", folder);
    snprintf(bad, sizeof bad, "%s/bad", folder);
    snprintf(none, sizeof none, "%s/none", folder);
    snprintf(config, sizeof config, "%s/config", folder);
    snprintf(home, sizeof home, "%s/home", folder);
    snprintf(text, sizeof text, "%s%s", HEAD, row);
    static const char *const folders[] = {"config", "config/tern", "home", "home/.config",
                                          "home/.config/tern"};
    for (int i = 0; i < 5; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    write_file("good", text);
    write_file("bad", HEAD "nonsense\n");
    assert_int_equal(in_process(&(struct settings){.tune = good, .config = config}, from_a_file),
                     0);
    assert_int_equal(in_process(&(struct settings){.tune = bad}, from_a_damaged_file), 0);
    assert_int_equal(in_process(&(struct settings){.tune = none}, from_a_missing_file), 0);
    assert_int_equal(in_process(&(struct settings){.tune = folder}, from_a_folder), 0);
    assert_int_equal(in_process(&(struct settings){0}, from_nowhere), 0);
    assert_int_equal(in_process(&(struct settings){.config = config}, from_nowhere), 0);

    // The same places once there is something in them; a damaged file there is passed over.
    write_file("config/tern/tune", text);
    assert_int_equal(in_process(&(struct settings){.config = config}, from_a_file), 0);
    assert_int_equal(in_process(&(struct settings){.tune = "", .config = config}, from_nowhere), 0);
    write_file("config/tern/tune", HEAD "nonsense\n");
    assert_int_equal(in_process(&(struct settings){.config = config}, from_nowhere), 0);
    write_file("home/.config/tern/tune", text);
    assert_int_equal(in_process(&(struct settings){.home = home}, from_a_file), 0);
    assert_int_equal(in_process(&(struct settings){.config = "", .home = home}, from_a_file), 0);
    assert_int_equal(in_process(&(struct settings){.config = config, .home = home}, from_nowhere),
                     0);
    char command[128];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static int replaced(void)
{
    tern_tune_row row;
    CHECK(tern_tune_get(kind_of("gather"), 4, &row) == TERN_OK);
    row.small_bytes = 123;
    CHECK(tern_tune_use(&row, 1) == TERN_OK);
    CHECK(choose("gather", 4, NULL) == TERN_OK && choice.small_bytes == 123);
    CHECK(strcmp(choice.source, "tern_tune_use") == 0);
    CHECK(choose("gather", 3, NULL) == TERN_OK && choice.small_bytes != 123);
    // What is refused changes nothing.
    row.chunk_bytes = 1;
    CHECK(tern_tune_use(&row, 1) == TERN_ERR_ARG);
    SAYS("expected bytes of a piece");
    row.chunk_bytes = 1024;
    memset(row.small, 'x', sizeof row.small);
    CHECK(tern_tune_use(&row, 1) == TERN_ERR_ARG);
    row.kind = (tern_plan_kind)77;
    CHECK(tern_tune_use(&row, 1) == TERN_ERR_ARG);
    CHECK(tern_tune_use(NULL, 1) == TERN_ERR_ARG && tern_tune_use(&row, -1) == TERN_ERR_ARG);
    CHECK(choose("gather", 4, NULL) == TERN_OK && choice.small_bytes == 123);
    CHECK(tern_tune_use(NULL, 0) == TERN_OK);
    CHECK(choose("gather", 4, NULL) == TERN_OK && strcmp(choice.source, "built in") == 0);
    CHECK(tern_tune_get((tern_plan_kind)77, 4, &row) == TERN_ERR_ARG);
    CHECK(tern_tune_get(kind_of("gather"), 65, &row) == TERN_ERR_ARG);
    CHECK(tern_tune_get(kind_of("gather"), 4, NULL) == TERN_ERR_ARG);
    return 0;
}

static void rows_can_be_replaced(void **state)
{
    assert_int_equal(in_process(&(struct settings){.tune = ""}, replaced), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_read),
        cmocka_unit_test(rows_between_machines_are_read),
        cmocka_unit_test(damaged_files_are_refused_with_the_place),
        cmocka_unit_test(every_beginning_is_handled),
        cmocka_unit_test(built_in_rows_can_be_written_and_read),
        cmocka_unit_test(the_environment_names_algorithms),
        cmocka_unit_test(the_file_is_found),
        cmocka_unit_test(rows_can_be_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
