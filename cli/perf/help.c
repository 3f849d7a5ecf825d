// SPDX-License-Identifier: Apache-2.0
// `tern perf --help`: the options, what the numbers mean, and where they differ from other tools.

#include "perf/help.h"

#include <stdio.h>

#include "perf/shape.h"
#include "ranks.h"

static const char help_head[] =
    "usage: tern perf KIND [-p RANKS] [-b MIN] [-e MAX] [-f FACTOR | -i STEP] [OPTIONS]\n"
    "\n"
    "Measures a collective call over a range of sizes, and checks its results. It starts its own\n"
    "ranks; under 'tern run' it is a rank of that job. KIND is 'all' or one of\n";

static const char help_options[] =
    "  -p RANKS           how many ranks, 1 to 64; default: the processors, at least 2\n"
    "  -b MIN, -e MAX     from this size to that; K, M, G are binary; default: 8 to 64M\n"
    "  -f FACTOR          each size is the one before times this; default: 2\n"
    "  -i STEP            or plus this many bytes\n"
    "  --sizes A[,B...]   or exactly these\n"
    "  -d DTYPE           f32 (default), f16, bf16, f64, i8 to i64, u8 to u64; also float, half,\n"
    "                     fp16, bfp16, int8, ...\n"
    "  -o OP              sum (default), prod, max, min, avg, and, or, xor, minloc, maxloc\n"
    "  -r, --root R       of broadcast, reduce, gather and scatter; default: 0\n"
    "  -w WARMUP          calls that are not timed, before; default: 5\n"
    "  -n ITERATIONS      timed calls; default: 50 ms of them, at least 20, at most 2000, and\n"
    "                     what --budget allows\n"
    "  --budget SECONDS   of a system and line when -n is not given; default: 2\n"
    "  -c 0|1             check the results of the first and the last call; default: 1\n"
    "  --algo A[,B...]    these algorithms instead of what is selected, a line each\n"
    "  --order rank|any   sums in rank order (default without --algo and TERN_ALGO), or any\n"
    "                     fixed order\n"
    "  --window yes|no    buffers in windows (default), or malloc'ed\n"
    "  --in-place         where the kind allows it\n"
    "  --compare P[,Q]    the same for openmpi, mpich: a small MPI program is compiled now, and\n"
    "                     takes turns with tern at every size\n"
    "  --json             a JSON object a line\n"
    "  --plot FILE.svg    draw time and bus bandwidth against size\n"
    "  --verbose          also how long the same ranks copied as many bytes\n"
    "  -h, --help         print this text\n";

static const char help_meaning[] =
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
    "Time: in every iteration all ranks meet in a barrier, then each takes the time of its own\n"
    "call; the slowest rank counts. The line gives median, least and greatest over the iterations.\n"
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

int perf_print_help(void)
{
    if (!cli_speaks()) {
        return 0;
    }
    fputs(help_head, stdout);
    for (int kind = 0; kind < PERF_KINDS; kind++) {
        printf("%s%s", kind % 7 == 0 ? kind == 0 ? "  " : ",\n  " : ", ", perf_shapes[kind].word);
    }
    puts(".\n");
    fputs(help_options, stdout);
    fputs(help_meaning, stdout);
    return 0;
}
