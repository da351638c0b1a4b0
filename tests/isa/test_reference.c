// SPDX-License-Identifier: Apache-2.0
// docs/reference/instructions.md is what the rows print (GLIA_BLESS=1 rewrites it); docs/isa.md names every
// instruction.
#include "harness/harness.h"
#include "base/file.h"
#include "isa/isa.h"
#include "isa/reference.h"

static void read_doc(const char *name, glia_strbuf *out)
{
    glia_map m;
    EXPECT_OK(glia_map_open(name, &m));
    glia_put_bytes(out, m.bytes.data, m.bytes.size);
    glia_map_fini(&m);
}

TEST(reference, the_page_is_printed_from_the_rows)
{
    static const char path[] = GLIA_SOURCE_DIR "/docs/reference/instructions.md";
    AUTO_VALUE(glia_strbuf) page = {0};
    AUTO_VALUE(glia_strbuf) file = {0};
    isa_reference_page(&page);
    if (getenv("GLIA_BLESS")) EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&page)));
    read_doc(path, &file);
    if (strcmp(glia_strbuf_str(&page), glia_strbuf_str(&file)) != 0)
        FAIL_TEST("%s differs from the rows; GLIA_BLESS=1 test_isa --only reference rewrites it", path);
}

// The instructions of the vendor's interface, from the fact sheet; what is ours today is among them.
TEST(reference, the_plan_lists_every_instruction_of_the_fact_sheet)
{
    static const char *const all[] = {
        "nc_matmul",
        "nc_matmul_mx",
        "nc_transpose",
        "activation",
        "activation_reduce",
        "activate2",
        "tensor_tensor",
        "tensor_scalar",
        "tensor_reduce",
        "tensor_partition_reduce",
        "scalar_tensor_tensor",
        "tensor_scalar_reduce",
        "tensor_scalar_cumulative",
        "tensor_tensor_scan",
        "tensor_copy",
        "tensor_copy_predicated",
        "select_reduce",
        "range_select",
        "memset",
        "bn_stats",
        "bn_aggr",
        "max8",
        "nc_find_index8",
        "nc_match_replace8",
        "nc_stream_shuffle",
        "dropout",
        "rng",
        "set_rng_seed",
        "rand_set_state",
        "rand_get_state",
        "rand2",
        "exponential",
        "reciprocal",
        "quantize_mx",
        "iota",
        "affine_select",
        "local_gather",
        "nc_n_gather",
        "sequence_bounds",
        "nonzero_with_count",
        "topk",
        "dma_copy",
        "dma_transpose",
        "dma_compute",
        "sendrecv",
        "core_barrier",
        "register_alloc",
        "register_move",
        "register_load",
        "register_store",
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "all_to_all",
        "all_gather_v",
        "all_to_all_v",
        "collective_permute",
        "collective_permute_implicit",
        "collective_permute_implicit_reduce",
        "collective_permute_implicit_current_processing_rank_id",
        "rank_id",
        "builtin_custom_op",
    };
    AUTO_VALUE(glia_strbuf) doc = {0};
    read_doc(GLIA_SOURCE_DIR "/docs/isa.md", &doc);
    for (size_t k = 0; k < COUNT_OF(all); k++) {
        char quoted[80];
        snprintf(quoted, sizeof quoted, "`%s`", all[k]);
        if (!strstr(glia_strbuf_str(&doc), quoted)) FAIL_TEST("docs/isa.md does not mention %s", quoted);
    }
    for (int op = 0; op < ISA_OP_COUNT; op++) {
        char quoted[80];
        snprintf(quoted, sizeof quoted, "`%s`", isa_row_get((isa_op)op)->name);
        if (!strstr(glia_strbuf_str(&doc), quoted)) FAIL_TEST("docs/isa.md does not mention %s, which exists", quoted);
    }
}
