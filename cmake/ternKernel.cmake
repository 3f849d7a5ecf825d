# SPDX-License-Identifier: Apache-2.0
#
# tern_add_kernel(NAME SOURCES... [PROGRAM] [RUNTIME ...] [OPTIONS ...])
#
# A shared library of kernels for the PTO ISA, or with PROGRAM a program that launches kernels, from
# sources with launches K<<<blocks, nullptr, stream>>>(arguments): each is compiled by
# `tern kernel-cc` with the project's C++ compiler, CMAKE_CXX_FLAGS, and OPTIONS (of the compiler:
# -Wall, -I...). NAME is a target like any other: include directories and definitions of it and of
# what it links count for its sources, and so do the sources' headers when they change. RUNTIME is that
# of `tern kernel-cc --runtime`, for orchestrations of the chip runtime and their kernels.
#
#     find_package(tern REQUIRED)
#     tern_add_kernel(pattern p2p.cpp PROGRAM OPTIONS -Wall)
#     target_link_libraries(pattern PRIVATE m)

# The compiler's flags of this configuration, as a list.
function(tern_kernel_flags result)
    separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS}")
    foreach(config IN LISTS CMAKE_CONFIGURATION_TYPES CMAKE_BUILD_TYPE)
        string(TOUPPER "${config}" upper)
        separate_arguments(more UNIX_COMMAND "${CMAKE_CXX_FLAGS_${upper}}")
        list(APPEND flags "$<$<CONFIG:${config}>:${more}>")
    endforeach()
    get_directory_property(more COMPILE_OPTIONS) # of add_compile_options
    list(APPEND flags ${more})
    set(${result} "${flags}" PARENT_SCOPE)
endfunction()

function(tern_add_kernel name)
    cmake_parse_arguments(PARSE_ARGV 1 kernel "PROGRAM" "RUNTIME" "OPTIONS")
    if(NOT CMAKE_CXX_COMPILER_LOADED)
        message(FATAL_ERROR "tern_add_kernel: kernels are C++: project(... LANGUAGES CXX)")
    endif()
    if(NOT kernel_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tern_add_kernel: ${name} has no sources")
    endif()
    tern_kernel_flags(flags)
    if(NOT kernel_PROGRAM)
        list(APPEND flags -fPIC)
    endif()
    if(kernel_RUNTIME)
        list(APPEND flags --runtime "${kernel_RUNTIME}")
    endif()
    set(includes "$<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>")
    set(definitions "$<TARGET_PROPERTY:${name},COMPILE_DEFINITIONS>")
    set(objects "")
    foreach(source IN LISTS kernel_UNPARSED_ARGUMENTS)
        get_filename_component(file "${source}" ABSOLUTE)
        string(REGEX REPLACE "[^A-Za-z0-9_.-]" "_" object "${source}")
        set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.kernels/${object}.o")
        add_custom_command(OUTPUT "${object}"
            COMMAND "${CMAKE_COMMAND}" -E make_directory
                "${CMAKE_CURRENT_BINARY_DIR}/${name}.kernels"
            COMMAND "${CMAKE_COMMAND}" -E env "CXX=${CMAKE_CXX_COMPILER}"
                "$<TARGET_FILE:tern::command>" kernel-cc "${flags}" ${kernel_OPTIONS}
                "$<$<BOOL:${includes}>:-I$<JOIN:${includes},;-I>>"
                "$<$<BOOL:${definitions}>:-D$<JOIN:${definitions},;-D>>"
                -MD -MF "${object}.d" -MT "${object}" -c "${file}" -o "${object}"
            DEPENDS "${file}"
            DEPFILE "${object}.d"
            COMMENT "Compiling kernels ${name}: ${source}"
            COMMAND_EXPAND_LISTS VERBATIM)
        list(APPEND objects "${object}")
    endforeach()
    if(kernel_PROGRAM)
        add_executable(${name} ${objects})
    else()
        add_library(${name} SHARED ${objects})
    endif()
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
    target_link_libraries(${name} PRIVATE tern::tern pthread)
endfunction()
