# SPDX-License-Identifier: Apache-2.0
# Tests of model graphs; included by CMakeLists.txt, which says what GLIA_PYTHON is.
glia_test(model_graph SOURCES test_graph.c graph_host.c DEPS model ir)
add_executable(graph_probe graph_probe.c graph_host.c)
target_include_directories(graph_probe PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(graph_probe PRIVATE glia_model glia_ir)
set_target_properties(graph_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
foreach(script graph reference_check)
  add_test(NAME model_${script}_script
           COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run_script ${script}.py $<TARGET_FILE:graph_probe>)
  set_tests_properties(model_${script}_script PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
