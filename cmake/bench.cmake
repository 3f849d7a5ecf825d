# SPDX-License-Identifier: Apache-2.0
#
# bench/<file>.c becomes bench_<file>, with the library's inner headers and those of cli/ and test/ in
# reach. Programs of the peers (mpi_*, openmp_*, starpu_*) are compiled by bench/run.py, where those are.

file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bench/*.c")
list(FILTER bench_sources EXCLUDE REGEX "/(mpi|openmp|starpu)_[^/]*$")
foreach(source IN LISTS bench_sources)
    get_filename_component(name "${source}" NAME_WE)
    add_executable(bench_${name} "${source}")
    target_include_directories(bench_${name} PRIVATE src cli test include/faces)
    target_link_libraries(bench_${name} PRIVATE tern_static tern_flags pthread m)
endforeach()
