# SPDX-License-Identifier: Apache-2.0
# The evaluator's tests; included by tests/ir/CMakeLists.txt.
glia_test(ir_eval SOURCES test_eval_elementwise.c test_eval_moves.c test_eval_control.c test_eval_reference.c eval_helper.c
          DEPS ir)

# Evaluates case directories: what eval_reference.py drives.
add_executable(eval_cli eval_cli.c)
target_link_libraries(eval_cli PRIVATE glia_ir)
set_target_properties(eval_cli PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_dependencies(test_ir_eval eval_cli)
target_compile_definitions(test_ir_eval PRIVATE EVAL_CLI="$<TARGET_FILE:eval_cli>")

glia_fuzz(eval SOURCES ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_eval.c DEPS ir)
add_executable(replay_eval ${PROJECT_SOURCE_DIR}/tests/fuzz/fuzz_eval.c ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
target_link_libraries(replay_eval PRIVATE glia_ir)
set_target_properties(replay_eval PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
add_test(NAME replay_eval COMMAND replay_eval ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus/eval)
