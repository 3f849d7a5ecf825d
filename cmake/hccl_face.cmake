# SPDX-License-Identifier: Apache-2.0
#
# libhccl.so, libhcomm.so and libascendcl.so in lib/hccl-face/ (installed: lib/tern/hccl-face), for
# programs that load HCCL and ACL by the names of the vendor's libraries. Each has the names that its
# headers in include/faces declare, and no other. What they do is tern's face of HCCL and ACL, in one
# library behind them, since they share streams and memory: they are filters of it (ld --filter),
# whose names the loader looks up there.

set(tern_face_dir "${PROJECT_BINARY_DIR}/lib/hccl-face")
set(tern_face_made "${PROJECT_BINARY_DIR}/hccl-face")

file(CONFIGURE OUTPUT "${tern_face_made}/face.map"
    CONTENT "{ global: acl*; Hccl*; Hcom*; local: *; };\n" @ONLY)
add_library(tern_hccl_face SHARED $<TARGET_OBJECTS:tern_objects>)
set_target_properties(tern_hccl_face PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${tern_face_dir}" INSTALL_RPATH "")
target_link_libraries(tern_hccl_face PRIVATE pthread ${CMAKE_DL_LIBS} m)
# -Bsymbolic: it stays by itself in a program that has libtern.so, too.
target_link_options(tern_hccl_face PRIVATE
    "-Wl,--version-script=${tern_face_made}/face.map" -Wl,-Bsymbolic)

function(tern_face_library name prefix)
    string(CONCAT text "// Generated: names for the loader; nothing is ever called here.\n"
        "#pragma GCC visibility push(default)\n")
    foreach(header IN LISTS ARGN)
        set(path "${PROJECT_SOURCE_DIR}/include/faces/${header}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${path}")
        file(STRINGS "${path}" lines REGEX "^TERN_API .*[ *]${prefix}[A-Za-z0-9]*\\(")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^.*[ *](${prefix}[A-Za-z0-9]*)\\(.*$" "\\1" symbol "${line}")
            string(APPEND text "void ${symbol}(void);\nvoid ${symbol}(void)\n{\n}\n")
        endforeach()
    endforeach()
    file(CONFIGURE OUTPUT "${tern_face_made}/${name}.c" CONTENT "${text}" @ONLY)
    add_library(tern_face_${name} SHARED "${tern_face_made}/${name}.c")
    add_dependencies(tern_face_${name} tern_hccl_face)
    set_target_properties(tern_face_${name} PROPERTIES
        OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY "${tern_face_dir}" BUILD_RPATH "$ORIGIN"
        INSTALL_RPATH "$ORIGIN")
    target_link_options(tern_face_${name} PRIVATE
        "-Wl,--filter=$<TARGET_FILE_NAME:tern_hccl_face>")
endfunction()

tern_face_library(ascendcl acl acl/acl.h acl/acl_base.h acl/acl_prof.h acl/acl_rt.h)
# Programs are linked with either, or with both.
tern_face_library(hccl Hc[a-z]+ hccl/hccl.h hccl/hccl_comm.h)
tern_face_library(hcomm Hc[a-z]+ hccl/hccl.h hccl/hccl_comm.h)
