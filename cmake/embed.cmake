# SPDX-License-Identifier: Apache-2.0
#
# A text inside a program: cli/perf/mpi.c, which `tern perf --compare` compiles on the spot, becomes
# the string of cli/perf/source.h. The headers it includes take the place of their #include lines, so that
# the text compiles alone. Included, this file adds the step to the build; run with -P, it is the step.

set(perf_headers timing.h perf/shape.h)

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(cli "${PROJECT_SOURCE_DIR}/cli")
    set(perf_source "${PROJECT_BINARY_DIR}/perf_source.c")
    list(TRANSFORM perf_headers PREPEND "${cli}/" OUTPUT_VARIABLE perf_parts)
    add_custom_command(OUTPUT "${perf_source}"
        COMMAND "${CMAKE_COMMAND}" "-DFOLDER=${cli}" "-DOUTPUT=${perf_source}"
            -P "${CMAKE_CURRENT_LIST_FILE}"
        DEPENDS "${cli}/perf/mpi.c" ${perf_parts} "${CMAKE_CURRENT_LIST_FILE}" VERBATIM)
    target_sources(tern PRIVATE "${perf_source}")
    return()
endif()

file(READ "${FOLDER}/perf/mpi.c" text)
foreach(name IN LISTS perf_headers)
    file(READ "${FOLDER}/${name}" header)
    string(REPLACE "#include \"${name}\"\n" "${header}" text "${text}")
endforeach()
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${OUTPUT}"
    "#include \"perf/source.h\"\n\nconst char perf_mpi_source[] =\n    \"${text}\";\n")
