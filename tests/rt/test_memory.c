// SPDX-License-Identifier: Apache-2.0
// Device memory: what is counted under which category, what does not fit and what would help, by numbers worked out by
// hand from the facts (microcode 96 MB a physical core; trn2 has four stacks of 24 GiB, two cores each at LNC 1).
#include "rt/nets.h"

#include "rt/objects.h"

static const uint64_t MICROCODE = 96000000, STACK = 24ull << 30;

static glia_rt_memory memory_of(uint32_t vnc)
{
    glia_rt_memory m = { .size = sizeof m };
    EXPECT_NRT(glia_rt_memory_of(vnc, &m), NRT_SUCCESS);
    return m;
}

TEST(memory, categories_have_the_vendors_names_and_order)
{
    static const char *const titles[] = { "Model Code", "Model Constants", "Tensors", "Shared Scratchpad", "Scratchpad",
        "Runtime", "DMA Rings IO", "DMA Rings Spill", "DMA Rings Collectives", "DMA Rings Runtime", "Collectives",
        "XT CC", "Profiler Buffers" };
    EXPECT_EQ_INT(COUNT_OF(titles), GLIA_RT_MEMORY_CATEGORIES);
    for (int k = 0; k < GLIA_RT_MEMORY_CATEGORIES; k++) EXPECT_EQ_STR(glia_rt_memory_title(k), titles[k]);
    EXPECT(glia_rt_memory_title(GLIA_RT_MEMORY_CATEGORIES) == NULL && glia_rt_memory_title(-1) == NULL);
    EXPECT_EQ_STR(glia_rt_memory_key(3), "shared_scratchpad");
}

TEST(memory, whether_it_fits_is_asked_of_the_same_ledger)
{
    glia_rt_memory m = { .size = sizeof m };
    EXPECT_NRT(glia_rt_would_fit("trn2.3xlarge", 2, "a model", NULL, 0, 20ull << 30, &m), NRT_SUCCESS);
    EXPECT_EQ_INT(m.total, (20ull << 30) + 2 * MICROCODE);
    EXPECT_EQ_INT(m.bytes[2], 20ull << 30);
    EXPECT_EQ_INT(m.limit, STACK);
    EXPECT_NRT(glia_rt_would_fit("trn2.3xlarge", 2, "a model", NULL, 0, 24ull << 30, &m), NRT_RESOURCE);
    EXPECT_SAYS("'a model' needs 24.000GB of device memory");
    EXPECT_SAYS("hint: a core of trn3-ultraserver-gen1 has room for 35.821GB");
    // 70 billion weights of two bytes: more than trn1.2xlarge has, which a larger instance of the same chip would hold.
    EXPECT_NRT(glia_rt_would_fit("trn1.2xlarge", 0, "a large model", NULL, 0, 140000000000ull, &m), NRT_RESOURCE);
    EXPECT_SAYS("this takes as much as 9 cores have, and nothing splits a program over cores so far");
    EXPECT_NRT(glia_rt_would_fit("trn2.3xlarge", 3, "a model", NULL, 0, 1, &m), NRT_INVALID);
    EXPECT_SAYS("logical core size 3; 'trn2' has 1 to 2");
    EXPECT_NRT(glia_rt_would_fit("trn9", 0, "a model", NULL, 0, 1, &m), NRT_INVALID);
    EXPECT_NRT(glia_rt_would_fit("trn2.3xlarge", 0, "a model", "no NEFF", 7, 0, &m), NRT_INVALID);
}

TEST(memory, sizes_are_printed_with_three_decimals)
{
    static const struct { uint64_t bytes; const char *text; } cases[] = { { 0, "0.000B" }, { 1023, "1023.000B" },
        { 358528, "350.125KB" }, { 100732508, "96.066MB" }, { 4ull << 30, "4.000GB" }, { 3ull << 40, "3.000TB" } };
    for (size_t k = 0; k < COUNT_OF(cases); k++) {
        glia_strbuf text = { 0 };
        rt_put_size(&text, cases[k].bytes);
        EXPECT_EQ_STR(glia_strbuf_str(&text), cases[k].text);
        glia_strbuf_fini(&text);
    }
}

TEST(memory, a_neff_is_counted_by_category)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    EXPECT_EQ_INT(memory_of(0).bytes[RT_MEMORY_MODEL_CODE], MICROCODE);
    EXPECT_EQ_INT(memory_of(0).total, MICROCODE);
    EXPECT_EQ_INT(memory_of(0).limit, STACK - MICROCODE);           // core 1's microcode lies there too
    nrt_model_t *model = session_load(neff_constant(), 0);          // 4 instructions, 3 of them DMA of 128 rows
    const glia_rt_memory m = memory_of(0);
    EXPECT_EQ_INT(m.bytes[RT_MEMORY_MODEL_CODE], MICROCODE + 4 * 64);
    EXPECT_EQ_INT(m.bytes[RT_MEMORY_MODEL_CONSTANTS], 128 * 8 * 4);
    EXPECT_EQ_INT(m.bytes[RT_MEMORY_RINGS_IO], 2 * 128 * 2 * 16);   // a in, y out: 128 rows, read and write, 16 bytes
    EXPECT_EQ_INT(m.bytes[RT_MEMORY_RINGS_SPILL], 128 * 2 * 16);    // the constant
    EXPECT_EQ_INT(m.bytes[RT_MEMORY_SHARED_SCRATCH], 0);
    EXPECT_EQ_INT(memory_of(1).total, MICROCODE);
    EXPECT_NRT(nrt_unload(model), NRT_SUCCESS);
    EXPECT_EQ_INT(memory_of(0).total, MICROCODE);
    EXPECT_EQ_INT(memory_of(0).peak, m.total);
    session_end();
}

TEST(memory, microcode_is_counted_for_each_physical_core)
{
    session_begin(NULL);
    EXPECT_EQ_INT(memory_of(3).total, 2 * MICROCODE);               // LNC 2
    EXPECT_EQ_INT(memory_of(3).limit, STACK);
    session_end();
    session_begin("GLIA_INSTANCE=trn1.2xlarge", NULL);
    EXPECT_EQ_INT(memory_of(1).total, MICROCODE);
    EXPECT_EQ_INT(memory_of(1).limit, 16ull << 30);
    session_end();
}

// Contiguous mode where a chip has but one size of core; at LNC 1 of trn2 pages of 512 MB.
TEST(memory, the_shared_scratchpad_is_the_largest_need_in_pages)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    enum { MB = 1 << 20 };
    nrt_model_t *small = session_load(neff_scratch("small", 100), 0);
    EXPECT_EQ_INT(memory_of(0).bytes[RT_MEMORY_SHARED_SCRATCH], 512 * MB);
    nrt_model_t *large = session_load(neff_scratch("large", 700ull * MB), 0);
    EXPECT_EQ_INT(memory_of(0).bytes[RT_MEMORY_SHARED_SCRATCH], 1024ull * MB);
    EXPECT_EQ_INT(memory_of(0).bytes[RT_MEMORY_SCRATCH], 700ull * MB);      // crosses a page: has memory of its own
    EXPECT_NRT(nrt_unload(small), NRT_SUCCESS);
    EXPECT_EQ_INT(memory_of(0).bytes[RT_MEMORY_SHARED_SCRATCH], 1024ull * MB);
    EXPECT_NRT(nrt_unload(large), NRT_SUCCESS);
    EXPECT_EQ_INT(memory_of(0).bytes[RT_MEMORY_SHARED_SCRATCH], 0);
    session_end();
}

TEST(memory, loops_and_calls_multiply_descriptors)
{
    net n = net_begin("loops", "trn2", 1);
    const uint32_t a = net_tensor(&n, "a", ISA_TENSOR_INPUT, 128, 8), t = net_tensor(&n, "t", ISA_TENSOR_SCRATCH, 128, 8);
    isa_function *body = isa_function_create(n.program, 0, "body");
    const uint32_t formal = isa_slot_formal(body, "x", 128 * 8 * 4, ISA_WRITE);
    const isa_operand sbuf = isa_chip(ISA_SBUF, NUM_F32, 0, 128, 0, 8);
    const int64_t step[] = { 8, 1 };
    const uint32_t count[] = { 128, 8 };
    (void)isa_emit_dma(body, ISA_dma_copy, ISA_SP, 0, isa_hbm(formal, NUM_F32, 0, 2, step, count), sbuf, ISA_DGE_NONE, 0);
    (void)isa_emit_dma(body, ISA_dma_copy, ISA_SP, 0, isa_hbm(formal, NUM_F32, 0, 2, step, count), sbuf, ISA_DGE_HWDGE, 0);
    uint32_t table = 0;
    isa_table_add(n.program, 0, 1, 1, &table)->items[0] = (isa_binding){ isa_slot_global(n.f, n.program, t), 0 };
    net_load(&n, 0, a);
    (void)isa_emit(n.f, ISA_for, ISA_SP, 4, (isa_operand[]){ isa_reg(0), isa_imm_int(2), isa_imm_int(9), isa_imm_int(3) }, 0, NULL, 0);
    (void)isa_emit(n.f, ISA_call, ISA_SP, 3, (isa_operand[]){ isa_imm_int(1), isa_imm_int(table), isa_imm_int(0) }, 0, NULL, 0);
    (void)isa_emit(n.f, ISA_end_for, ISA_SP, 0, NULL, 0, NULL, 0);
    rt_footprint f;
    rt_footprint_of(n.program, &hw_trainium2, 1, &f);
    EXPECT_EQ_INT(f.bytes[RT_MEMORY_MODEL_CODE], 6 * 64);
    EXPECT_EQ_INT(f.bytes[RT_MEMORY_RINGS_IO], 128 * 2 * 16);
    EXPECT_EQ_INT(f.bytes[RT_MEMORY_RINGS_SPILL], 3 * 128 * 2 * 16);        // 2, 5, 8; hwdge needs no ring
    EXPECT_EQ_INT(f.bytes[RT_MEMORY_SHARED_SCRATCH], 128 * 8 * 4);
    isa_program_destroy(n.program);
}

// ---- what does not fit ---------------------------------------------------------------------------------------------

TEST(memory, a_load_that_does_not_fit_shows_the_table_and_another_core)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_tensor_t *kv = session_tensor(1, 4, 0, 0), *big = NULL;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 1, 20ull << 30, "big", &big), NRT_SUCCESS);
    glia_strbuf neff = neff_scratch("llama", 6000ull << 20);
    nrt_model_t *model = NULL;
    EXPECT_NRT(nrt_load(neff.data, neff.size, 0, -1, &model), NRT_RESOURCE);
    EXPECT(model == NULL);
    EXPECT_SAYS("'llama' needs 11.859GB of device memory (usage: model) on ND 0:NC 0; HBM 0 has 24.000GB, of which 20.179GB are in use");
    EXPECT_SAYS("TOTAL | Model Code | Model Constants |    Tensors | Shared Scratchpad");
    EXPECT_SAYS("ND 0 HBM 0");
    EXPECT_SAYS("asked for          |   11.859GB |   128.000B |          0.000B |     0.000B |           6.000GB |    5.859GB");
    EXPECT_SAYS("\\_NC 1             |   20.089GB |   91.553MB |          0.000B |   20.000GB");
    EXPECT_SAYS("hint: put it on core 2, whose HBM has 23.821GB free");
    EXPECT_EQ_INT(memory_of(0).total, MICROCODE);                   // nothing is left of it
    EXPECT_NRT(nrt_load(neff.data, neff.size, 2, -1, &model), NRT_SUCCESS);
    glia_strbuf_fini(&neff);
    nrt_tensor_free(&kv);
    session_end();
}

TEST(memory, the_smallest_thing_that_makes_room_is_named)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_NUM_CORES=2", NULL);
    static const struct { const char *name; uint64_t gib; } sizes[] = { { "weights", 12 }, { "kv", 5 }, { "cache", 3 }, { "tiny", 1 } };
    nrt_tensor_t *t = NULL;
    for (size_t k = 0; k < COUNT_OF(sizes); k++)
        EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, k % 2, sizes[k].gib << 30, sizes[k].name, &t), NRT_SUCCESS);
    // 21 of 24 GiB and the microcode are taken.
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 5ull << 30, "more", &t), NRT_RESOURCE);
    EXPECT_SAYS("hint: free tensor 'cache', which has 3.000GB");
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 20ull << 30, "more", &t), NRT_RESOURCE);
    EXPECT_SAYS("hint: free 17.179GB of the tensors and NEFFs in the table");
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 30ull << 30, "more", &t), NRT_RESOURCE);
    EXPECT_SAYS("hint: a core of trn3-ultraserver-gen1 has room for 35.821GB; compile for trn3");
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 1000ull << 30, "more", &t), NRT_RESOURCE);
    EXPECT_SAYS("hint: an empty core has room for 23.911GB; this takes as much as 42 cores have");
    session_end();
}

TEST(memory, a_neff_may_be_what_makes_room)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", "NEURON_RT_NUM_CORES=1", NULL);
    nrt_model_t *large = session_load(neff_scratch("large", 9000ull << 20), 0);
    uint32_t id = 0;
    EXPECT_NRT(glia_rt_model_neff_id(large, &id), NRT_SUCCESS);
    EXPECT_EQ_INT(id, 1001);
    nrt_tensor_t *t = NULL;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 8ull << 30, "t", &t), NRT_RESOURCE);
    EXPECT_SAYS("hint: unload NEFF 1001 'large', which has 8.789GB");
    EXPECT_SAYS("  \\_NEFF 1001");
    EXPECT_SAYS("n/a");
    EXPECT_SAYS("1001: \"large\"");
    EXPECT_NRT(nrt_unload(large), NRT_SUCCESS);
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, 8ull << 30, "t", &t), NRT_SUCCESS);
    session_end();
}

TEST(memory, stats_and_table_are_there_for_clients)
{
    session_begin("NEURON_LOGICAL_NC_CONFIG=1", NULL);
    nrt_vnc_memory_stats_t stats = { 0 };
    size_t size = 0;
    nrt_tensor_t *t = session_tensor(0, 1000, 0, 0);
    EXPECT_NRT(nrt_get_vnc_memory_stats(0, &stats, sizeof stats, &size), NRT_SUCCESS);
    EXPECT_EQ_INT(size, sizeof stats);
    EXPECT_EQ_INT(stats.bytes_used, MICROCODE + 4000);
    EXPECT_EQ_INT(stats.bytes_limit, STACK - MICROCODE);
    EXPECT_NRT(nrt_get_vnc_memory_stats(0, &stats, 8, &size), NRT_SUCCESS);        // an older client
    EXPECT_EQ_INT(size, 8);
    EXPECT_NRT(nrt_get_vnc_memory_stats(8, &stats, sizeof stats, &size), NRT_INVALID);
    char *table = glia_rt_memory_table(0);
    EXPECT(table && strstr(table, "ND 0 HBM 0"));
    glia_rt_free(table);
    EXPECT(glia_rt_memory_table(99) == NULL);
    EXPECT_NRT(nrt_debug_log_oom_report(), NRT_SUCCESS);
    nrt_tensor_free(&t);
    session_end();
}

TEST(memory, a_tensor_larger_than_the_host_is_refused_by_name)
{
    session_begin("GLIA_INSTANCE=trn2.3xlarge", NULL);
    nrt_tensor_t *t = NULL;
    EXPECT_NRT(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_HOST, -1, 1ull << 50, "huge", &t), NRT_RESOURCE);
    EXPECT_SAYS("tensor 'huge' takes 1125899906842624 bytes of this host");
    EXPECT(t == NULL);
    session_end();
}
