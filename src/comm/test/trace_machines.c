// SPDX-License-Identifier: Apache-2.0
// tern_trace_end of ranks on several machines: the events of all of them in one file, with clocks
// that are known as well as the file says.
#include "support/cmocka.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/machines.h"
#include "support/trace_holds.h"
#include "tern/coll.h"
#include "tern/trace.h"

static bool holds(const char *path, const char *expression)
{
    return trace_holds(path,
                       "other = trace[\"otherData\"]\n"
                       "calls = [e for e in E if e[\"name\"] == \"all_reduce #7\" and e[\"ph\"] == "
                       "\"X\"]\n"
                       "error = {r: int(m[\"clock\"][0][\"error_ns\"]) / 1e3\n"
                       "         for m in other.get(\"machines\", []) for r in m[\"ranks\"]}\n",
                       expression);
}

// The ranks of all "machines" are on one box, so their clocks are one.
static int record(tern_comm *comm, void *arg)
{
    const char *path = arg;
    float in[64] = {0};
    float out[64];
    CHECK(tern_trace_begin(0) == TERN_OK);
    for (int i = 0; i < 300; i++) {
        CHECK(tern_all_reduce(comm, in, out, 64, TERN_F32, TERN_SUM) == TERN_OK);
    }
    CHECK(tern_trace_end(comm, path) == TERN_OK);
    if (tern_comm_rank(comm) == 0) {
        CHECK(holds(path, "sorted(e[\"pid\"] for e in calls) == [1, 2, 3, 4, 5]"));
        CHECK(holds(path, "other[\"clock_of\"] == \"rank 0\""));
        CHECK(holds(path, "[(m[\"machine\"], m[\"ranks\"]) for m in other[\"machines\"]] == "
                          "[(\"a\", [0, 3]), (\"b\", [1, 4]), (\"c\", [2])]"));
        CHECK(holds(path, "all(abs(int(p[\"offset_ns\"])) <= int(p[\"error_ns\"]) for m in "
                          "other[\"machines\"] for p in m[\"clock\"])"));
        CHECK(holds(path, "error[0] == error[3] == 0 < min(error[1], error[2])"));
        CHECK(holds(path, "all(a[\"ts\"] <= b[\"ts\"] + b[\"dur\"] + error[a[\"pid\"] - 1] + "
                          "error[b[\"pid\"] - 1] for a in calls for b in calls)"));
        CHECK(holds(path, "[e[\"args\"][\"labels\"] for e in E if e[\"name\"] == "
                          "\"process_labels\"] == [\"on a\", \"on b\", \"on c\", \"on a\", \"on "
                          "b\"]"));
    }
    return 0;
}

static void all_machines_are_in_one_file(void **state)
{
    assert_true(machines_run_comm("abcab", record, folder_file, 60));
    unlink(folder_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_machines_are_in_one_file),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
