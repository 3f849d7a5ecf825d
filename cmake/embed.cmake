# SPDX-License-Identifier: Apache-2.0
#
# A text inside a program: cli/perf/mpi.c, which `tern perf --compare` compiles on the spot, becomes
# the string of cli/perf/source.h. The header it includes takes the place of its #include line, so that
# the text compiles alone. Included, this file adds the step to the build; run with -P, it is the step.

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(perf_program "${PROJECT_SOURCE_DIR}/cli/perf/mpi.c")
    set(perf_header "${PROJECT_SOURCE_DIR}/cli/perf/shape.h")
    set(perf_source "${PROJECT_BINARY_DIR}/perf_source.c")
    add_custom_command(OUTPUT "${perf_source}"
        COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${perf_program}" "-DHEADER=${perf_header}"
            "-DFOLDER=${PROJECT_SOURCE_DIR}/cli" "-DOUTPUT=${perf_source}" -P "${CMAKE_CURRENT_LIST_FILE}"
        DEPENDS "${perf_program}" "${perf_header}" "${CMAKE_CURRENT_LIST_FILE}" VERBATIM)
    target_sources(tern PRIVATE "${perf_source}")
    return()
endif()

file(READ "${SOURCE}" text)
file(READ "${HEADER}" header)
file(RELATIVE_PATH name "${FOLDER}" "${HEADER}")
string(REPLACE "#include \"${name}\"\n" "${header}" text "${text}")
string(REPLACE "\\" "\\\\" text "${text}")
string(REPLACE "\"" "\\\"" text "${text}")
string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
file(WRITE "${OUTPUT}"
    "#include \"perf/source.h\"\n\nconst char perf_mpi_source[] =\n    \"${text}\";\n")
