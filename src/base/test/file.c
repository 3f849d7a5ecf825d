// SPDX-License-Identifier: Apache-2.0
// Files: what is no file is refused at once; a save appears whole or not at all, whatever stops it.
#include "support/cmocka.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/folder.h"

static int write_text(FILE *file, void *text)
{
    fputs(text, file);
    return TERN_OK;
}

static int write_much(FILE *file, void *arg)
{
    for (int i = 0; i < 100000; i++) {
        fputs("0123456789", file);
    }
    return TERN_OK;
}

static int give_up(FILE *file, void *arg)
{
    fputs("half", file);
    fflush(file);
    return TERN_ERR_LIMIT;
}

// It is killed in the middle of writing.
static int die(FILE *file, void *arg)
{
    fputs("half", file);
    fflush(file);
    raise(SIGKILL);
    return TERN_OK;
}

static void assert_holds(const char *text)
{
    char *read;
    size_t length;
    assert_int_equal(tern__file_read(folder_file, "test", 1000, &read, &length), TERN_OK);
    assert_string_equal(read, text);
    assert_int_equal(length, strlen(text));
    free(read);
}

static void a_save_replaces_the_whole_file(void **state)
{
    assert_int_equal(tern_file_probe(folder_file), TERN_OK);
    assert_int_equal(folder_count(), 0);
    assert_int_equal(tern_file_save(folder_file, write_text, (void *)(uintptr_t) "a long text"),
                     TERN_OK);
    assert_holds("a long text");
    assert_int_equal(tern_file_save(folder_file, write_text, (void *)(uintptr_t) "short"), TERN_OK);
    assert_holds("short");
    assert_int_equal(tern_file_probe(folder_file), TERN_OK);
    assert_holds("short");
    assert_int_equal(folder_count(), 1);
}

static void a_save_that_fails_leaves_the_old_file_alone(void **state)
{
    assert_int_equal(tern_file_save(folder_file, write_text, (void *)(uintptr_t) "old"), TERN_OK);
    assert_int_equal(tern_file_save(folder_file, give_up, NULL), TERN_ERR_LIMIT);
    assert_holds("old");
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit tight = {.rlim_cur = 100000, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    int status = tern_file_save(folder_file, write_much, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), folder_file));
    assert_non_null(strstr(tern_last_error(), "File too large"));
    assert_holds("old");
    assert_int_equal(folder_count(), 1);
}

static void a_link_is_followed(void **state)
{
    char link[128];
    struct stat found;
    snprintf(link, sizeof link, "%s/link", folder_name);
    assert_int_equal(tern_file_save(folder_file, write_text, (void *)(uintptr_t) "old"), TERN_OK);
    assert_int_equal(chmod(folder_file, 0640), 0);
    assert_int_equal(symlink(folder_file, link), 0);
    assert_int_equal(tern_file_save(link, give_up, NULL), TERN_ERR_LIMIT);
    assert_holds("old");
    assert_int_equal(tern_file_save(link, write_text, (void *)(uintptr_t) "new"), TERN_OK);
    assert_holds("new");
    assert_int_equal(lstat(link, &found), 0);
    assert_true(S_ISLNK(found.st_mode));
    assert_int_equal(stat(folder_file, &found), 0);
    assert_int_equal(found.st_mode & 07777, 0640);
    unlink(link);
}

static void assert_unwritable(const char *where, const char *reason)
{
    assert_int_equal(tern_file_save(where, write_text, (void *)(uintptr_t) "x"), TERN_ERR_SYSTEM);
    assert_non_null(strstr(tern_last_error(), where));
    assert_non_null(strstr(tern_last_error(), reason));
}

static void what_cannot_be_written_is_an_error(void **state)
{
    char missing[128];
    snprintf(missing, sizeof missing, "%s/none/a", folder_name);
    assert_unwritable("/dev/full", "No space left on device");
    assert_unwritable(folder_name, "Is a directory");
    assert_unwritable(missing, "No such file or directory");
    assert_unwritable("", "No such file or directory");
    assert_int_equal(tern_file_probe(folder_name), TERN_ERR_SYSTEM);
    assert_int_equal(tern_file_probe(missing), TERN_ERR_SYSTEM);
    assert_int_equal(tern_file_probe("/dev/null"), TERN_OK);
    assert_int_equal(tern_file_probe(NULL), TERN_ERR_ARG);
    assert_int_equal(tern_file_save(NULL, write_text, NULL), TERN_ERR_ARG);
    assert_int_equal(tern_file_save(folder_file, NULL, NULL), TERN_ERR_ARG);
    assert_int_equal(folder_count(), 0);
}

static bool have_unnamed_files(void)
{
    int fd = open(folder_name, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0) {
        close(fd);
    }
    return fd >= 0;
}

static void a_writer_that_is_killed_does_not_spoil_the_file(void **state)
{
    assert_int_equal(tern_file_save(folder_file, write_text, (void *)(uintptr_t) "old"), TERN_OK);
    pid_t child = fork();
    if (child == 0) {
        tern_status_ignore(tern_file_save(folder_file, die, NULL)); // it does not return
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_holds("old");
    if (have_unnamed_files()) {
        assert_int_equal(folder_count(), 1); // and leaves nothing
        return;
    }
    char draft[160];
    snprintf(draft, sizeof draft, "%s.%ld-", folder_file, (long)child);
    DIR *dir = opendir(folder_name);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char name[320];
        snprintf(name, sizeof name, "%s/%s", folder_name, entry->d_name);
        if (strncmp(name, draft, strlen(draft)) == 0) {
            unlink(name);
        }
    }
    closedir(dir);
}

static void assert_not_read(const char *where, int status, const char *reason)
{
    char *text = NULL;
    size_t length;
    assert_int_equal(tern__file_read(where, "test", 10, &text, &length), status);
    assert_null(text);
    assert_non_null(strstr(tern_last_error(), where));
    assert_non_null(strstr(tern_last_error(), reason));
}

static void only_files_are_read(void **state)
{
    assert_not_read(folder_file, TERN_ERR_SYSTEM, "No such file");
    assert_not_read(folder_name, TERN_ERR_ARG, "is a folder, not a file");
    assert_not_read("/dev/zero", TERN_ERR_ARG, "is a device, not a file");
    assert_int_equal(mkfifo(folder_file, 0600), 0);
    assert_not_read(folder_file, TERN_ERR_ARG, "is a pipe, not a file");
    unlink(folder_file);
    assert_int_equal(tern_file_save(folder_file, write_much, NULL), TERN_OK);
    assert_not_read(folder_file, TERN_ERR_ARG, "more than 10 bytes");
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_make, folder_remove)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(a_save_replaces_the_whole_file),
        IN_FOLDER(a_save_that_fails_leaves_the_old_file_alone),
        IN_FOLDER(a_link_is_followed),
        IN_FOLDER(what_cannot_be_written_is_an_error),
        IN_FOLDER(a_writer_that_is_killed_does_not_spoil_the_file),
        IN_FOLDER(only_files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
