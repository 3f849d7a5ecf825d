# SPDX-License-Identifier: Apache-2.0
#
# The tests of contrib/torch (`make torch` builds it), by the Python that contrib/torch/test/run.py finds with
# a torch and its headers. Without one it says so and is skipped.

add_test(NAME torch/all
    COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/contrib/torch/test/run.py"
        --library $<TARGET_FILE:tern_static>)
set_tests_properties(torch/all PROPERTIES LABELS torch TIMEOUT 900 COST 900 SKIP_RETURN_CODE 77)
