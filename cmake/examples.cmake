# SPDX-License-Identifier: Apache-2.0
#
# Each examples/<name> is a project of its own: a stranger's, that finds an installed tern
# (`cmake -S examples/ring -B build`). Here they use the tree's library instead, get its warnings, and
# land in bin/.

add_library(tern::tern ALIAS tern_shared)
add_executable(tern::command ALIAS tern)
include(cmake/ternKernel.cmake)
link_libraries(tern_flags)
file(GLOB example_lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/CMakeLists.txt")
foreach(list IN LISTS example_lists)
    get_filename_component(dir "${list}" DIRECTORY)
    add_subdirectory("${dir}")
endforeach()
