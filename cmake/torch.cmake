# SPDX-License-Identifier: Apache-2.0
#
# The tests of contrib/torch (`make torch` builds it): one of each file, by the Python that
# contrib/torch/test/run.py finds with a torch and its headers. Without one each says so and is skipped.

file(GLOB torch_tests CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/contrib/torch/test/test_*.py")
foreach(file IN LISTS torch_tests)
    get_filename_component(name "${file}" NAME_WE)
    string(REGEX REPLACE "^test_" "" name "${name}")
    add_test(NAME torch/${name}
        COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/contrib/torch/test/run.py"
            --library $<TARGET_FILE:tern_static> "${file}")
    set_tests_properties(torch/${name} PROPERTIES LABELS torch TIMEOUT 900 SKIP_RETURN_CODE 77
        RESOURCE_LOCK torch)
endforeach()
