// SPDX-License-Identifier: Apache-2.0
// `tern perf --help`, around the options: what the numbers mean, and where they differ from other
// tools.

#include "perf/help.h"

#include <stdio.h>

#include "perf/shape.h"

const char perf_help_head[] =
    "usage: tern perf KIND [-p RANKS] [-b MIN] [-e MAX] [-f FACTOR | -i STEP] [OPTIONS]\n"
    "\n"
    "Measures a collective call over a range of sizes, and checks its results. It starts its own\n"
    "ranks; under 'tern run' it is a rank of that job. KIND is 'all' or one of\n";

const char perf_help_foot[] =
    "\n"
    "Size is the larger of a rank's input and output in bytes, as in nccl-tests (hccl_test means\n"
    "the bytes of one device):\n"
    "  all_reduce, broadcast, reduce, send_recv                       count * element\n"
    "  reduce_scatter, all_gather, gather, scatter, all_to_all        ranks * count * element\n"
    "  the (v) kinds: the same total in shares proportional to 1, 2, ..., rounded down one after\n"
    "  the other; rank r of all_to_all_v sends share (r + q) mod RANKS to rank q. Their count is\n"
    "  that of the largest share.\n"
    "Counts are rounded down to whole elements, but never to none; lines that this makes equal\n"
    "are left out. broadcast is in place on the root, as in MPI. send_recv: each rank sends to the\n"
    "next and receives from the previous one.\n"
    "\n"
    "Time: in every iteration all ranks begin at one instant, and the time is until the last one\n"
    "has ended its call (--start barrier, and between machines: they meet in a barrier, each takes\n"
    "the time of its own call, and the slowest counts). The line gives median, least and greatest\n"
    "over the iterations.\n"
    "algbw = size / time; busbw = algbw * 2(n-1)/n for all_reduce, * (n-1)/n for the kinds with\n"
    "ranks * count, * 1 else. GB are 10^9 bytes. bound: the time of the same ranks copying, all at\n"
    "once, as many bytes as the kind must read and write, in percent of the measured time.\n"
    "\n"
    "-b -e -f -i -d -o -r -n -w -c mean what they mean in nccl-tests and hccl_test, -p what it\n"
    "means in hccl_test (nccl-tests: -t and -g). -i 0 is refused, and -w, -n and sizes have other\n"
    "defaults.\n"
    "\n"
    "Exit status: 0 right, 1 a wrong result or a failed run, 2 wrong usage, 125 when the ranks\n"
    "cannot be started.\n";

void perf_print_kinds(void)
{
    for (int kind = 0; kind < PERF_KINDS; kind++) {
        printf("%s%s", kind % 7 == 0 ? kind == 0 ? "  " : ",\n  " : ", ", perf_shapes[kind].word);
    }
    puts(".\n");
}
