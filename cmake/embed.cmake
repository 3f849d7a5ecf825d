# SPDX-License-Identifier: Apache-2.0
#
# A text inside a program: cli/perf/mpi.c, which `tern perf --compare` compiles on the spot, becomes
# the string of cli/perf/source.h. What it includes takes the place of the #include lines, so that
# the text compiles alone. Included, this file adds the step to the build; run with -P, it is the step.

# What includes another one of these comes before it.
set(perf_headers cli/perf/meet.h cli/timing.h cli/perf/shape.h include/tern/kind.def)

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(perf_program "${PROJECT_SOURCE_DIR}/cli/perf/mpi.c")
    set(perf_source "${PROJECT_BINARY_DIR}/perf_source.c")
    list(TRANSFORM perf_headers PREPEND "${PROJECT_SOURCE_DIR}/" OUTPUT_VARIABLE perf_parts)
    add_custom_command(OUTPUT "${perf_source}"
        COMMAND "${CMAKE_COMMAND}" "-DTREE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${perf_source}"
            -P "${CMAKE_CURRENT_LIST_FILE}"
        DEPENDS "${perf_program}" ${perf_parts} "${CMAKE_CURRENT_LIST_FILE}" VERBATIM)
    target_sources(tern PRIVATE "${perf_source}")
    return()
endif()

file(READ "${TREE}/cli/perf/mpi.c" text)
foreach(path IN LISTS perf_headers)
    file(READ "${TREE}/${path}" header)
    string(REGEX REPLACE "^(cli|include)/" "" name "${path}")
    string(REPLACE "#include \"${name}\"\n" "${header}" text "${text}")
endforeach()
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${OUTPUT}"
    "#include \"perf/source.h\"\n\nconst char perf_mpi_source[] =\n    \"${text}\";\n")
