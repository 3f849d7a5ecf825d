// SPDX-License-Identifier: Apache-2.0
// A program with one fault, for docs/debugging.md: rank 2 does what the argument says, and the
// others do what is right. Without an argument all do. `tern run -n 3 faulty hang`

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <tern/tern.h>

enum { COUNT = 1000 };

static int failed(void)
{
    fprintf(stderr, "%s\n", tern_last_error());
    return 1;
}

static bool is_fault(const char *word)
{
    static const char *const faults[] = {"hang", "crash", "leave", "mismatch", "ignore", "circle"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(word, faults[i]) == 0) {
            return true;
        }
    }
    return false;
}

// A number goes round, and no rank begins: rank 2 should send first.
static int pass_around(tern_comm *world)
{
    int size = tern_comm_size(world);
    int next = (tern_comm_rank(world) + 1) % size;
    int previous = (tern_comm_rank(world) + size - 1) % size;
    int number = 0;
    int status = tern_recv(world, &number, 1, TERN_I32, previous);
    return status == TERN_OK ? tern_send(world, &number, 1, TERN_I32, next) : status;
}

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "";
    if (argc > 2 || (argc == 2 && !is_fault(fault))) {
        fputs("usage: faulty [hang | crash | leave | mismatch | ignore | circle]\n", stderr);
        return 2;
    }
    float in[COUNT] = {1};
    float out[COUNT];
    tern_comm *world;
    if (tern_init(NULL, &world) != TERN_OK ||
        tern_all_reduce(world, in, out, COUNT, TERN_F32, TERN_SUM) != TERN_OK) {
        return failed();
    }
    if (argc == 2 && tern_comm_size(world) < 3) {
        fputs("faulty: rank 2 makes the mistake, so start at least 3 ranks\n", stderr);
        tern_status_ignore(tern_comm_destroy(world));
        return 2;
    }
    bool wrong = tern_comm_rank(world) == 2;
    if (wrong && strcmp(fault, "hang") == 0) {
        pause(); // never comes to the next call
    }
    if (wrong && strcmp(fault, "crash") == 0) {
        int *volatile nothing = NULL;
        *nothing = 1;
    }
    if (wrong && strcmp(fault, "leave") == 0) {
        return 0; // without tern_comm_destroy
    }
    if (strcmp(fault, "circle") == 0 && pass_around(world) != TERN_OK) {
        return failed();
    }
    size_t count = wrong && strcmp(fault, "mismatch") == 0 ? COUNT - 1 : COUNT;
    if (tern_all_reduce(world, in, out, count, TERN_F32, TERN_SUM) != TERN_OK) {
        return failed();
    }
    if (wrong && strcmp(fault, "ignore") == 0) {
        tern_status_ignore(tern_all_reduce(world, in, out, COUNT, TERN_F32, TERN_XOR));
    }
    return tern_comm_destroy(world) == TERN_OK ? 0 : failed();
}
