// SPDX-License-Identifier: Apache-2.0
// cli/perf/mpi.c with its header inside, as text; made at build time (cmake/embed.cmake).
#ifndef TERN_CLI_PERF_SOURCE_H
#define TERN_CLI_PERF_SOURCE_H

extern const char perf_mpi_source[];

#endif
