# SPDX-License-Identifier: Apache-2.0
#
# bench/<file>.c becomes bench_<file>, with the library's inner headers and those of cli/ in reach.
# bench/mpi_basics.c is a program for two MPI implementations and is compiled by bench/run.py with each
# one's mpicc.

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
list(FILTER bench_sources EXCLUDE REGEX "/mpi_[^/]*$")
foreach(source IN LISTS bench_sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(bench_${name} "${source}")
    target_include_directories(bench_${name} PRIVATE src cli)
    target_link_libraries(bench_${name} PRIVATE tern_static tern_flags pthread m)
endforeach()
