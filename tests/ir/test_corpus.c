// SPDX-License-Identifier: Apache-2.0
// Real texts: the dumps in hlo/ (JAX programs before and after XLA's optimisation) make the round trip; the fuzz
// corpus is replayed.
#include "base/file.h"
#include "ir/ir_helper.h"

TEST(corpus, every_dump_makes_the_round_trip)
{
    int count = 0;
    char **list = helper_list("tests/ir/hlo", ".hlo.txt", &count);
    EXPECT(count >= 38);
    for (int i = 0; i < count; i++) {
        glia_map text = {0};
        ir_module *m = NULL;
        EXPECT_OK(glia_map_open(list[i], &text));
        EXPECT_OK(ir_parse(text.bytes, list[i], &m));
        helper_round_trip(m, list[i]);
        ir_module_destroy(m);
        glia_map_fini(&text);
    }
    helper_free_list(list, count);
}

TEST(corpus, the_llama_layer_is_read_in_full)
{
    glia_map text = {0};
    ir_module *m = NULL;
    EXPECT_OK(glia_map_open(GLIA_SOURCE_DIR "/tests/ir/hlo/llama_layer.hlo.txt", &text));
    EXPECT_OK(ir_parse(text.bytes, "llama_layer.hlo.txt", &m));
    int dots = 0, reduces = 0, calls = 0;
    for (uint32_t c = 0; c < m->computations.count; c++)
        for (uint32_t i = 0; i < m->computations.items[c]->insts.count; i++) {
            ir_op op = m->computations.items[c]->insts.items[i]->op;
            dots += op == IR_DOT;
            reduces += op == IR_REDUCE;
            calls += op == IR_CALL;
        }
    EXPECT_EQ_INT(dots, 9);    // q, k, v, scores, mix, o, gate, up, down
    EXPECT_EQ_INT(reduces, 4); // two norms, a softmax's max and sum
    EXPECT(calls > 0);
    EXPECT_SHAPE(&m->entry->root->shape, "bf16[8,64]");
    ir_module_destroy(m);
    glia_map_fini(&text);
}

TEST(corpus, fuzz_inputs_are_replayed)
{
    int count = 0;
    char **list = helper_list("tests/fuzz/corpus/hlo", "", &count);
    EXPECT(count > 0);
    for (int i = 0; i < count; i++) {
        glia_map text = {0};
        ir_module *m = NULL;
        EXPECT_OK(glia_map_open(list[i], &text));
        AUTO_STATUS s = ir_parse(text.bytes, "corpus", &m);
        if (!s) helper_round_trip(m, list[i]);
        ir_module_destroy(m);
        glia_map_fini(&text);
    }
    helper_free_list(list, count);
}
