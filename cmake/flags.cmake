# SPDX-License-Identifier: Apache-2.0
#
# The flags that everything of ours is compiled with, carried by the interface target tern_flags.
# Asserts stay on: NDEBUG is set nowhere. No -march=native: SIMD is chosen by function attributes.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(tern_optimise "-O3 -g")
set(CMAKE_C_FLAGS_RELEASE "${tern_optimise}")
set(CMAKE_CXX_FLAGS_RELEASE "${tern_optimise}")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "${tern_optimise}")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "${tern_optimise}")
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_library(tern_flags INTERFACE)
target_compile_definitions(tern_flags INTERFACE _GNU_SOURCE)
target_compile_options(tern_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -fvisibility=hidden
    $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation>
    $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
    $<$<BOOL:${TERN_WERROR}>:-Werror>)

# Deadlines end what hangs; a busy machine may take several times as long as a quiet one.
set(tern_timeout_scale 3)
if(TERN_SANITIZE STREQUAL "fuzzer")
    set(tern_sanitizer_flags -fsanitize=fuzzer-no-link,address,undefined)
elseif(TERN_SANITIZE)
    set(tern_sanitizer_flags -fsanitize=${TERN_SANITIZE})
endif()
if(TERN_SANITIZE)
    list(APPEND tern_sanitizer_flags -fno-sanitize-recover=all -fno-omit-frame-pointer)
    set(tern_timeout_scale 4)
    add_compile_options(-O1 -g1 ${tern_sanitizer_flags}) # reports name functions and lines; more takes a fifth longer
    add_link_options(${tern_sanitizer_flags})
endif()
if(TERN_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # gcc says that it does not model atomic_thread_fence; src/base/order.h answers for its fences.
    add_compile_options(-Wno-tsan)
endif()
