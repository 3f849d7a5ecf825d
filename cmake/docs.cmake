# SPDX-License-Identifier: Apache-2.0
#
# docs/api.html in the build: the interface as a page, made from the public headers. Without Python it is
# left out.

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
    set(tern_api_page "${PROJECT_BINARY_DIR}/docs/api.html")
    file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
    file(GLOB tern_public_headers CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/include/tern/*.h" "${PROJECT_SOURCE_DIR}/include/tern/*.def")
    add_custom_command(OUTPUT "${tern_api_page}"
        COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/contrib/api.py" "${tern_api_page}"
        DEPENDS ${tern_public_headers} "${PROJECT_SOURCE_DIR}/contrib/api.py" VERBATIM)
    add_custom_target(docs ALL DEPENDS "${tern_api_page}")
    install(FILES "${tern_api_page}" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()
