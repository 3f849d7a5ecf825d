# SPDX-License-Identifier: Apache-2.0
#
# Plug-ins that carry bytes between machines (src/net/engine.h), each where its library is installed:
# one for each MPI, compiled by that MPI's own mpicc, and one for UCX. libtern needs none of them.

set(engine_headers "${PROJECT_SOURCE_DIR}/src/net/engine.h"
    "${PROJECT_SOURCE_DIR}/src/net/plugin/two_sided.inc"
    "${PROJECT_SOURCE_DIR}/src/net/plugin/two_sided_receive.inc"
    "${PROJECT_SOURCE_DIR}/src/net/plugin/two_sided_send.inc")
set(tern_engines "")
foreach(mpi openmpi mpich)
    find_program(TERN_MPICC_${mpi} mpicc.${mpi})
    mark_as_advanced(TERN_MPICC_${mpi})
    if(TERN_MPICC_${mpi})
        set(plugin "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libtern_net_mpi_${mpi}.so")
        add_custom_command(OUTPUT "${plugin}"
            COMMAND ${TERN_MPICC_${mpi}} -std=c17 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -fPIC
                -shared "${PROJECT_SOURCE_DIR}/src/net/plugin/mpi.c" -o "${plugin}"
            DEPENDS "${PROJECT_SOURCE_DIR}/src/net/plugin/mpi.c" ${engine_headers}
            COMMENT "Building the engine mpi for ${mpi}" VERBATIM)
        list(APPEND tern_engines "${plugin}")
    endif()
endforeach()

find_path(TERN_UCX_INCLUDE ucp/api/ucp.h)
find_library(TERN_UCP ucp)
find_library(TERN_UCS ucs)
mark_as_advanced(TERN_UCX_INCLUDE TERN_UCP TERN_UCS)
if(TERN_UCX_INCLUDE AND TERN_UCP AND TERN_UCS)
    add_library(tern_net_ucx MODULE src/net/plugin/ucx.c)
    target_include_directories(tern_net_ucx SYSTEM PRIVATE ${TERN_UCX_INCLUDE})
    target_link_libraries(tern_net_ucx PRIVATE ${TERN_UCP} ${TERN_UCS})
    target_compile_definitions(tern_net_ucx PRIVATE _GNU_SOURCE)
endif()
if(tern_engines)
    add_custom_target(tern_engines ALL DEPENDS ${tern_engines})
endif()
