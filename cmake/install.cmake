# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts where. The faces keep the paths their programs expect ("comm.h"), so
# they live in a folder of their own, include/tern-faces, that a consumer may leave out.

include(CMakePackageConfigHelpers)
set(tern_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tern")

install(TARGETS tern_static tern_shared EXPORT ternTargets)
if(TARGET tern)
    install(TARGETS tern)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/include/tern")
    install(DIRECTORY include/tern DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
endif()
# Made even while empty: the exported target names it, and CMake refuses a path that is not there.
install(DIRECTORY DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tern-faces")
if(EXISTS "${PROJECT_SOURCE_DIR}/include/faces")
    install(DIRECTORY include/faces/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tern-faces")
endif()

# Not beside libtern: only programs that are told so may take them for the vendor's.
if(TARGET tern_hccl_face)
    install(TARGETS tern_hccl_face tern_face_hccl tern_face_hcomm tern_face_ascendcl
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/tern/hccl-face")
endif()

if(tern_engines)
    install(FILES ${tern_engines} DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET tern_net_ucx)
    install(TARGETS tern_net_ucx LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

foreach(section 1 3)
    file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.${section}")
    if(pages)
        install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
    endif()
endforeach()

install(FILES contrib/completion/tern.bash RENAME tern
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")

# Relative, so that a moved or staged prefix still works.
file(RELATIVE_PATH tern_pc_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" tern_pc_to_prefix "${tern_pc_to_prefix}")
configure_file(cmake/tern.pc.in tern.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tern.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

install(EXPORT ternTargets NAMESPACE tern:: DESTINATION "${tern_package_dir}")
configure_package_config_file(cmake/ternConfig.cmake.in "${PROJECT_BINARY_DIR}/ternConfig.cmake"
    INSTALL_DESTINATION "${tern_package_dir}" PATH_VARS CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ternConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ternConfig.cmake" cmake/ternKernel.cmake
    "${PROJECT_BINARY_DIR}/ternConfigVersion.cmake" DESTINATION "${tern_package_dir}")

# Python finds the package there by PYTHONPATH, and pip installs it from there.
install(DIRECTORY python/ DESTINATION "${CMAKE_INSTALL_LIBDIR}/tern/python"
    PATTERN "__pycache__" EXCLUDE PATTERN "test" EXCLUDE PATTERN ".pytest_cache" EXCLUDE)
