// SPDX-License-Identifier: Apache-2.0
// A fresh folder for a group of tests that write files, removed after it.
#ifndef TERN_TEST_FOLDER_H
#define TERN_TEST_FOLDER_H

extern char folder_name[64];
extern char folder_file[96]; // a path in it, of a file that each test may make

// For cmocka_run_group_tests. Removing fails if a test has left another file behind.
int folder_make(void **state);
int folder_remove(void **state);

int folder_count(void); // files in it

#endif
