# SPDX-License-Identifier: Apache-2.0
#
# src/<floor>/test/<file>.c          one executable and one ctest entry <floor>/<file>, label = floor
# src/<floor>/test/kernels/<file>.c  a loadable kernel, lib/test/<file>.so
# test/support/*.c                   helpers for all tests
# test/support/netlab               the command `netlab`: hosts on one box
# test/system/<file>.sh              a check of the whole, not run under sanitizers
# test/pto/<file>.cpp                kernels and hosts, which test/system/pto.sh compiles and runs
#
# A first-line comment with `ctest-timeout: N` replaces the deadline of 120 s; what may take longest starts
# first, so that no processor is idle at the end, and before that what says `ctest-first`: it waits for long. Exit
# status 77 means skipped. With `ctest-machines: N` the test also runs with its ranks spread over N machines, which
# they take this one for (test/support/ranks.h).
# `ctest-threads: none`: none of its processes starts a thread, but for those with ranks on several machines.
# ThreadSanitizer has nothing to see there; test/support/alone/no_threads.c keeps that true.
#
# A test links lib/libtern_shown.so: libtern.so with its internals exported (cmake/show.py). It is compiled
# as a shared library is, so that data of the library stands there and not in the test. One that loads libraries
# carries the static library: one that names TERN_TEST_KERNEL_DIR the whole of it, with its public symbols
# exported, so that a kernel it loads calls into the library under test, not into a second copy from libtern.so.

find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(tern_kernel_dir "${PROJECT_BINARY_DIR}/lib/test")
add_library(tern_test_flags INTERFACE)
target_include_directories(tern_test_flags INTERFACE
    "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/include/faces"
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/test")
target_compile_definitions(tern_test_flags INTERFACE
    TERN_BUILD_DIR="${PROJECT_BINARY_DIR}"
    TERN_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    TERN_TEST_KERNEL_DIR="${tern_kernel_dir}")
target_compile_options(tern_test_flags INTERFACE -Wno-unused-parameter)
target_link_libraries(tern_test_flags INTERFACE tern_flags PkgConfig::CMOCKA pthread)

file(GLOB support_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/support/*.c")
if(support_sources)
    add_library(tern_test_support STATIC ${support_sources})
    set_target_properties(tern_test_support PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(tern_test_support PUBLIC tern_test_flags)
else()
    add_library(tern_test_support INTERFACE)
    target_link_libraries(tern_test_support INTERFACE tern_test_flags)
endif()

file(GLOB netlab_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/support/netlab/*.c")
add_executable(netlab ${netlab_sources})
target_link_libraries(netlab PRIVATE tern_flags)

if(NOT TERN_SANITIZE)
    add_library(tern_test_no_threads OBJECT "${PROJECT_SOURCE_DIR}/test/support/alone/no_threads.c")
    target_link_libraries(tern_test_no_threads PRIVATE tern_flags)
endif()

set(tern_shown "${PROJECT_BINARY_DIR}/tern_shown.o")
add_custom_command(OUTPUT "${tern_shown}"
    COMMAND "${CMAKE_COMMAND}" -E env "LD=${CMAKE_LINKER}" "$<TARGET_FILE:Python3::Interpreter>"
        "${PROJECT_SOURCE_DIR}/cmake/show.py" "${tern_shown}" $<TARGET_OBJECTS:tern_objects>
    DEPENDS tern_objects $<TARGET_OBJECTS:tern_objects> "${PROJECT_SOURCE_DIR}/cmake/show.py"
    COMMENT "Joining the objects of tern for tests"
    COMMAND_EXPAND_LISTS VERBATIM)
add_library(tern_shown SHARED "${tern_shown}")
set_target_properties(tern_shown PROPERTIES LINKER_LANGUAGE C)
target_link_options(tern_shown PRIVATE -Wl,-Bsymbolic)
target_link_libraries(tern_shown PRIVATE pthread ${CMAKE_DL_LIBS} m)

# What every test may start or load: built before any test that is built by its own name.
add_custom_target(tern_test_needs)
add_dependencies(tern_test_needs tern_face_hccl tern_face_hcomm tern_face_ascendcl)
if(TARGET tern)
    add_dependencies(tern_test_needs tern)
endif()

function(tern_read_timeout source result)
    set(seconds 120)
    file(STRINGS "${source}" first_lines LIMIT_COUNT 3)
    if(first_lines MATCHES "ctest-timeout: *([0-9]+)")
        set(seconds ${CMAKE_MATCH_1})
    endif()
    math(EXPR seconds "${seconds} * ${tern_timeout_scale}")
    set(${result} ${seconds} PARENT_SCOPE)
endfunction()

# What a developer has set, or measured with `tern tune`, is nothing to the tests.
set(tern_own_environment "XDG_CONFIG_HOME=set:${PROJECT_BINARY_DIR}/no-config")
foreach(variable TERN_TUNE TERN_ALGO TERN_DIRECT TERN_AGREE TERN_LOG TERN_ERRORS)
    list(APPEND tern_own_environment "${variable}=unset:")
endforeach()

# Nothing there starts a thread: left out where ThreadSanitizer looks.
set(tern_floors_without_threads topo plan plan/check plan/record plan/sim plan/optimal coll)

function(tern_add_test floor source)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${source}")
    file(STRINGS "${source}" first_lines LIMIT_COUNT 3)
    set(alone TRUE)
    set(machines 0)
    if(first_lines MATCHES "ctest-machines: *([0-9]+)")
        set(machines ${CMAKE_MATCH_1})
    endif()
    if(TERN_SANITIZE STREQUAL "thread")
        if(first_lines MATCHES "ctest-threads: *none")
            set(alone FALSE)
        endif()
        if(floor IN_LIST tern_floors_without_threads OR NOT (alone OR machines))
            return()
        endif()
    endif()
    get_filename_component(name "${source}" NAME_WE)
    string(REPLACE "/" "_" prefix "${floor}")
    set(target "test_${prefix}_${name}")
    add_executable(${target} "${source}")
    # The compiler takes longer for most tests than they run. Those floors' compute much themselves, or with
    # inline functions of the library.
    if(NOT floor MATCHES "^(isa|sync|plan/exec)$")
        target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)
    endif()
    file(STRINGS "${source}" loads_kernels REGEX TERN_TEST_KERNEL_DIR LIMIT_COUNT 1)
    file(STRINGS "${source}" loads_others REGEX "dlopen" LIMIT_COUNT 1)
    if(loads_kernels)
        set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
        target_link_libraries(${target} PRIVATE
            tern_test_support $<LINK_LIBRARY:WHOLE_ARCHIVE,tern_static>)
    elseif(loads_others)
        target_link_libraries(${target} PRIVATE tern_test_support tern_static)
    else()
        target_compile_options(${target} PRIVATE -fPIC)
        target_link_libraries(${target} PRIVATE tern_test_support tern_shown pthread m)
        target_link_options(${target} PRIVATE -Wl,-z,nocopyreloc)
        set_target_properties(${target} PROPERTIES LINK_DEPENDS_NO_SHARED ON)
    endif()
    add_dependencies(${target} tern_test_needs)
    tern_read_timeout("${source}" seconds)
    set(cost ${seconds})
    if(first_lines MATCHES "ctest-first")
        set(cost 10000)
    endif()
    if(first_lines MATCHES "ctest-threads: *none" AND NOT TERN_SANITIZE)
        target_link_libraries(${target} PRIVATE tern_test_no_threads)
    endif()
    set(tests)
    if(alone)
        list(APPEND tests "${floor}/${name}")
        add_test(NAME "${floor}/${name}" COMMAND ${target})
    endif()
    if(machines)
        list(APPEND tests "${floor}/${name}_on_machines")
        add_test(NAME "${floor}/${name}_on_machines" COMMAND ${target})
        set_tests_properties("${floor}/${name}_on_machines" PROPERTIES ENVIRONMENT "TERN_TEST_MACHINES=${machines}")
    endif()
    set_tests_properties(${tests} PROPERTIES
        LABELS "${floor}" TIMEOUT ${seconds} COST ${cost} SKIP_RETURN_CODE 77
        ENVIRONMENT_MODIFICATION "${tern_own_environment}")
endfunction()

function(tern_add_test_kernel floor source)
    get_filename_component(name "${source}" NAME_WE)
    string(REPLACE "/" "_" prefix "${floor}")
    set(target "kernel_${prefix}_${name}")
    add_library(${target} MODULE "${source}")
    set_target_properties(${target} PROPERTIES
        PREFIX "" OUTPUT_NAME "${name}" LIBRARY_OUTPUT_DIRECTORY "${tern_kernel_dir}")
    target_link_libraries(${target} PRIVATE tern_shared tern_flags)
    add_dependencies(tern_test_needs ${target})
endfunction()

foreach(floor IN LISTS TERN_FLOORS)
    set(dir "${PROJECT_SOURCE_DIR}/src/${floor}/test")
    file(GLOB kernels CONFIGURE_DEPENDS "${dir}/kernels/*.c" "${dir}/kernels/*.cpp")
    foreach(source IN LISTS kernels)
        tern_add_test_kernel(${floor} "${source}")
    endforeach()
    file(GLOB tests CONFIGURE_DEPENDS "${dir}/*.c" "${dir}/*.cpp")
    foreach(source IN LISTS tests)
        tern_add_test(${floor} "${source}")
    endforeach()
endforeach()

# The yardstick of the simulator; without it that test says that it is skipped.
pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid)
if(TARGET test_plan_sim_simgrid AND SIMGRID_FOUND AND NOT TERN_SANITIZE)
    target_link_libraries(test_plan_sim_simgrid PRIVATE PkgConfig::SIMGRID)
    target_compile_definitions(test_plan_sim_simgrid PRIVATE TERN_TEST_SIMGRID)
endif()

if(NOT TERN_SANITIZE)
    # A checker and a simulator need no windows and no transports: these floors link by themselves.
    add_library(tern_plan_alone MODULE $<FILTER:$<TARGET_OBJECTS:tern_objects>,INCLUDE,/src/\(base|topo|plan|plan/check|plan/record|plan/sim\)/[^/]*$>)
    set_target_properties(tern_plan_alone PROPERTIES
        LINKER_LANGUAGE C LIBRARY_OUTPUT_DIRECTORY "${tern_kernel_dir}")
    target_link_options(tern_plan_alone PRIVATE -Wl,--no-undefined)
    target_link_libraries(tern_plan_alone PRIVATE pthread ${CMAKE_DL_LIBS} m)

    file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/test/system/*.sh")
    foreach(script IN LISTS scripts)
        get_filename_component(name "${script}" NAME_WE)
        add_test(NAME "system/${name}" COMMAND bash "${script}")
        tern_read_timeout("${script}" seconds)
        set_tests_properties("system/${name}" PROPERTIES
            LABELS system TIMEOUT ${seconds} COST ${seconds} SKIP_RETURN_CODE 77
            ENVIRONMENT_MODIFICATION "${tern_own_environment}"
            ENVIRONMENT "TERN_BUILD_DIR=${PROJECT_BINARY_DIR};TERN_SOURCE_DIR=${PROJECT_SOURCE_DIR}")
    endforeach()
    add_test(NAME repo/tidy
        COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/contrib/tidy.py" --build "${PROJECT_BINARY_DIR}")
    set_tests_properties(repo/tidy PROPERTIES LABELS repo TIMEOUT 120 COST 600
        ENVIRONMENT "CC=${CMAKE_C_COMPILER};CXX=${CMAKE_CXX_COMPILER}")
endif()

# Where python3 is a script that looks for one (pyenv's is), each call takes a second: tests find the one it finds.
execute_process(COMMAND "${Python3_EXECUTABLE}" -c "import sys; print(sys.executable)"
    OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE)
if(python AND NOT python STREQUAL Python3_EXECUTABLE)
    get_filename_component(python_dir "${python}" DIRECTORY)
    get_property(tests DIRECTORY PROPERTY TESTS)
    set_property(TEST ${tests} APPEND PROPERTY ENVIRONMENT_MODIFICATION "PATH=path_list_prepend:${python_dir}")
endif()
