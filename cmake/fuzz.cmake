# SPDX-License-Identifier: Apache-2.0
#
# src/<floor>/fuzz/<file>.c defines LLVMFuzzerTestOneInput and becomes fuzz_<floor>_<file>. Seeds, if
# any, lie in src/<floor>/fuzz/<file>.corpus/. ctest runs each for FUZZ_SECONDS (20) seconds; what
# libFuzzer discovers goes to the build folder, never into the tree.

if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "libFuzzer comes with clang: use `cmake --preset fuzz`")
endif()

add_custom_target(fuzz)
foreach(floor IN LISTS TERN_FLOORS)
    file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${floor}/fuzz/*.c")
    foreach(source IN LISTS sources)
        get_filename_component(name "${source}" NAME_WE)
        get_filename_component(dir "${source}" DIRECTORY)
        string(REPLACE "/" "_" prefix "${floor}")
        set(target "fuzz_${prefix}_${name}")
        add_executable(${target} "${source}")
        target_include_directories(${target} PRIVATE src test)
        # No header declares LLVMFuzzerTestOneInput; a source's options come after its target's.
        set_source_files_properties("${source}" PROPERTIES COMPILE_OPTIONS -Wno-missing-prototypes)
        target_link_libraries(${target} PRIVATE tern_static tern_flags)
        target_link_options(${target} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzz ${target})
        add_test(NAME "fuzz/${floor}/${name}" COMMAND bash
            "${PROJECT_SOURCE_DIR}/cmake/fuzz_run.sh" $<TARGET_FILE:${target}>
            "${dir}/${name}.corpus" "${PROJECT_BINARY_DIR}/corpus/${target}")
        set_tests_properties("fuzz/${floor}/${name}" PROPERTIES LABELS fuzz TIMEOUT 86400)
    endforeach()
endforeach()
