# SPDX-License-Identifier: Apache-2.0
#
# Each examples/<name>/CMakeLists.txt is a line or two:
#
#     tern_add_example(tp_ffn SOURCES main.c ffn.c BLAS)
#     tern_add_kernel(ffn_kernels SOURCES kernels.cpp BLAS)
#
# An example lands in bin/, a kernel library (loaded at run time, named <name>.so) in lib/. BLAS links
# OpenBLAS; where it is not installed, what needs it is left out with a message.

find_package(PkgConfig REQUIRED)
pkg_check_modules(OPENBLAS IMPORTED_TARGET openblas)

# Sets ${result} to the libraries to link, or to NO when one is missing.
function(tern_example_libraries name blas result)
    set(libraries tern_shared tern_flags pthread m)
    if(blas AND NOT OPENBLAS_FOUND)
        message(WARNING "${name} is left out: pkg-config does not find openblas")
        set(libraries NO)
    elseif(blas)
        list(APPEND libraries PkgConfig::OPENBLAS)
    endif()
    set(${result} ${libraries} PARENT_SCOPE)
endfunction()

function(tern_add_example name)
    cmake_parse_arguments(arg "BLAS" "" "SOURCES" ${ARGN})
    tern_example_libraries(${name} ${arg_BLAS} libraries)
    if(libraries)
        add_executable(${name} ${arg_SOURCES})
        target_link_libraries(${name} PRIVATE ${libraries} ${CMAKE_DL_LIBS})
    endif()
endfunction()

function(tern_add_kernel name)
    cmake_parse_arguments(arg "BLAS" "" "SOURCES" ${ARGN})
    tern_example_libraries(${name} ${arg_BLAS} libraries)
    if(libraries)
        add_library(${name} MODULE ${arg_SOURCES})
        set_target_properties(${name} PROPERTIES PREFIX "")
        target_link_libraries(${name} PRIVATE ${libraries})
    endif()
endfunction()

file(GLOB example_lists CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*/CMakeLists.txt")
foreach(list IN LISTS example_lists)
    get_filename_component(dir "${list}" DIRECTORY)
    add_subdirectory("${dir}")
endforeach()
