# SPDX-License-Identifier: Apache-2.0
# Tests of model graphs; included by CMakeLists.txt.
glia_test(model_graph SOURCES test_graph.c DEPS model ir)
