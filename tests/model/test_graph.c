// SPDX-License-Identifier: Apache-2.0
#include "harness/harness.h"
#include "ir/ir.h"
#include "model/graph.h"

static model_config config_of(const char *json)
{
    model_config c;
    EXPECT_OK(model_config_parse_json((glia_span){ (const uint8_t *)json, strlen(json) }, "test", &c));
    return c;
}

static const char gemma[] =
    "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":4,\"hidden_size\":32,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"head_dim\":8,\"intermediate_size\":48,\"vocab_size\":64,\"max_position_embeddings\":64,"
    "\"sliding_window\":5,\"sliding_window_pattern\":2,\"query_pre_attn_scalar\":8,\"rope_theta\":1000000}";

TEST(graph, verifies)
{
    model_config c = config_of(gemma);
    for (int i = 0; i < 2; i++) {
        AUTO(model_graph) g = NULL;
        EXPECT_OK(model_graph_build(&c, &(model_graph_options){ .phase = i ? MODEL_DECODE : MODEL_PREFILL, .tokens = i ? 1 : 16, .context = 32, .dtype = NUM_BF16 }, &g));
        EXPECT_OK(ir_verify(g->module));
        AUTO_VALUE(glia_strbuf) b = { 0 };
        ir_print(&b, g->module);
        puts(glia_strbuf_str(&b));
    }
}
