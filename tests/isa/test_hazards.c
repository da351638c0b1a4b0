// SPDX-License-Identifier: Apache-2.0
// The hazard checker on small programs, written as text: one for each rule of what is certain and of which accesses
// meet. A row says how many pairs are violated and assumed, and a part of the first finding.
#include "base/rng.h"
#include "harness/harness.h"
#include "isa/generate.h"
#include "isa/hazards.h"
#include "isa/text.h"

#define HEAD                                                                                                           \
    "glia-asm 1\nprogram p target trn2 cores 1\norigin 1 \"%add.7\" \"a.hlo:3\"\n"                                     \
    "tensor x input f32[64,64]\ntensor pos input s32[4]\ntensor kv output f32[64,64]\ntensor kv2 output f32[64,64] "   \
    "alias=x\n"                                                                                                        \
    "tensor work scratch s32[4]\ncore 0 sbuf=8192 psum=16384\nfunction main formals=0\n"                               \
    "slot x = x\nslot pos = pos\nslot kv = kv\nslot kv2 = kv2\nslot work = work\n"
#define TAIL "end\n"

typedef struct row {
    const char *name, *insns;
    int violated, assumed;
    const char *part; // of the first finding's words
} row;

static void parse(const char *text, isa_program **out)
{
    EXPECT_OK(isa_parse((glia_span){(const uint8_t *)text, strlen(text)}, "test.s", out));
}

static void check_rows(const row *rows, size_t count, const char *head)
{
    for (size_t k = 0; k < count; k++) {
        glia_strbuf text = {0};
        glia_putf(&text, "%s%s%s", head, rows[k].insns, TAIL);
        AUTO(isa_program) p = NULL;
        parse(glia_strbuf_str(&text), &p);
        AUTO_VALUE(isa_hazard_report) r = {0};
        EXPECT_OK(isa_check_hazards(p, false, &r));
        const char *why = r.items.count ? r.items.items[0].why : "";
        if ((int)r.violated != rows[k].violated || (int)r.assumed != rows[k].assumed)
            FAIL_TEST("%s: got %d violated, %d assumed, want %d and %d: %s", rows[k].name, (int)r.violated,
                      (int)r.assumed, rows[k].violated, rows[k].assumed, why);
        if (rows[k].part && !strstr(why, rows[k].part))
            FAIL_TEST("%s: \"%s\" lacks \"%s\"", rows[k].name, why, rows[k].part);
        EXPECT((rows[k].violated + rows[k].assumed > 0) == (r.items.count > 0));
        glia_strbuf_fini(&text);
    }
}

#define A "sbuf:f32(0+64, 0, 1:64)"
#define B "sbuf:f32(0+64, 256, 1:64)"
#define C "sbuf:f32(0+64, 512, 1:64)"

TEST(hazards, engines_and_queues)
{
    static const row rows[] = {
        {"another engine reads", "DVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " B ", " A " @1\n", 1, 0,
         "until s2>=base+1, for DVE memset @0"},
        {"and waits", "DVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " B ", " A " wait(s2>=base+1)\n", 0, 0, NULL},
        {"and waits too little",
         "DVE memset " C ", 0.0 inc(s2+1)\nDVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " B ", " A
         " wait(s2>=base+1)\n",
         1, 0, "until s2>=base+2"},
        {"and waits absolutely", "DVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " B ", " A " wait(s2>=1)\n", 0, 0,
         NULL},
        {"the same engine reads", "DVE memset " A ", 0.0\nDVE tensor_copy " B ", " A "\n", 0, 0, NULL},
        {"write after read", "DVE tensor_copy " B ", " A " inc(s2+1)\nPOOL memset " A ", 0.0\n", 1, 0,
         "writes what is read by"},
        {"write after write", "DVE memset " A ", 0.0 inc(s2+1)\nPOOL memset " A ", 1.0\n", 1, 0,
         "writes what is written by"},
        {"two readers", "DVE tensor_copy " B ", " A "\nACT tensor_copy " C ", " A "\n", 0, 0, NULL},
        {"no increment to wait for", "DVE memset " A ", 0.0\nACT tensor_copy " B ", " A "\n", 1, 0,
         "increments no semaphore"},
        {"a transfer by the engine that computed",
         "ACT tensor_copy " A ", " B " inc(s1+1)\nACT dma_copy %kv:f32(0, 64:64 1:64), " A " queue=0\n", 1, 0,
         "until s1>=base+1"},
        {"which waits for itself",
         "ACT tensor_copy " A ", " B " inc(s1+1)\nACT dma_copy %kv:f32(0, 64:64 1:64), " A
         " queue=0 wait(s1>=base+1)\n",
         0, 0, NULL},
        {"the engine reads what it had loaded",
         "ACT dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nACT tensor_copy " B ", " A "\n", 1, 0,
         "until s5>=base+16"},
        {"one queue does not order its own transfers",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nSP dma_copy %kv:f32(0, 64:64 1:64), " A
         " queue=0\n",
         1, 0, "until s5>=base+16"},
        {"but it completes in order",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nSP dma_copy " C
         ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\n"
         "DVE tensor_copy " B ", " C " wait(s5>=base+32)\nDVE tensor_copy " B ", " A "\n",
         0, 0, NULL},
        {"any part of a transfer's count is all of it",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nDVE tensor_copy " B ", " A " wait(s5>=base+1)\n",
         0, 0, NULL},
        {"order goes on through a third engine",
         "DVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " B ", " A " wait(s2>=base+1) inc(s1+1)\nPOOL tensor_copy " C
         ", " A " wait(s1>=base+1)\n",
         0, 0, NULL},
        {"and through what an engine knew before",
         "DVE memset " A ", 0.0 inc(s2+1)\nACT wait wait(s2>=base+1)\nACT dma_copy %kv:f32(0, 64:64 1:64), " A
         " queue=0\n",
         0, 0, NULL},
        {"a wait for what comes later helps nothing",
         "ACT tensor_copy " B ", " A " wait(s2>=base+1) inc(s1+1)\nDVE memset " A ", 0.0 inc(s2+1)\n", 1, 0,
         "writes what is read by"},
    };
    check_rows(rows, COUNT_OF(rows), HEAD);
}

// A semaphore of several lanes implies only what holds in every order.
TEST(hazards, shared_semaphores_and_rings)
{
    static const row rows[] = {
        {"either may have come",
         "DVE memset " A ", 0.0 inc(s9+1)\nPOOL memset " B ", 0.0 inc(s9+1)\nACT tensor_copy " C ", " A
         " wait(s9>=base+1)\n",
         1, 0, "several lanes"},
        {"both must have",
         "DVE memset " A ", 0.0 inc(s9+1)\nPOOL memset " B ", 0.0 inc(s9+1)\nACT tensor_copy " C ", " A
         " wait(s9>=base+2)\n",
         0, 0, NULL},
        {"a third may stand for one",
         "DVE memset " A ", 0.0 inc(s9+1)\nPOOL memset " B ", 0.0 inc(s9+1)\nACT tensor_copy " C ", " A
         " wait(s9>=base+2) inc(s1+1)\nDVE memset " A ", 1.0 wait(s1>=base+1)\n"
         "POOL memset " B ", 1.0 inc(s9+1)\n",
         1, 0, "several lanes"},
        {"unless it comes after",
         "DVE memset " A ", 0.0 inc(s9+1)\nPOOL memset " B ", 0.0 inc(s9+1)\nACT tensor_copy " C ", " A
         " wait(s9>=base+2) inc(s1+1)\nDVE memset " A ", 1.0 wait(s1>=base+1)\n"
         "POOL memset " B ", 1.0 wait(s1>=base+1) inc(s9+1)\n",
         0, 0, NULL},
        {"two engines on one ring join it in any order",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0\nACT dma_copy " C
         ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nDVE tensor_copy " B ", " A " wait(s5>=base+16)\n",
         1, 0, "increments no semaphore"},
        {"descriptors that hardware generates may join later",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) dge=hwdge queue=0\nSP dma_copy " C
         ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nDVE tensor_copy " B ", " A " wait(s5>=base+16)\n",
         1, 0, "increments no semaphore"},
        {"unless one has joined before",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0\nSP wait inc(s4+1)\nACT dma_copy " C
         ", %x:f32(0, 64:64 1:64) queue=0 wait(s4>=base+1) inc(s5+16)\n"
         "DVE tensor_copy " B ", " A " wait(s5>=base+16)\n",
         0, 0, NULL},
    };
    check_rows(rows, COUNT_OF(rows), HEAD);
}

TEST(hazards, which_accesses_meet)
{
    static const row rows[] = {
        {"other partitions", "DVE memset sbuf:f32(0+32, 0, 1:8), 0.0\nPOOL memset sbuf:f32(32+32, 0, 1:8), 0.0\n", 0, 0,
         NULL},
        {"a common partition", "DVE memset sbuf:f32(0+33, 0, 1:8), 0.0\nPOOL memset sbuf:f32(32+32, 0, 1:8), 0.0\n", 1,
         0, "sbuf partitions 32..32 bytes 0..32"},
        {"other bytes", "DVE memset sbuf:f32(0+32, 0, 1:8), 0.0\nPOOL memset sbuf:f32(0+32, 32, 1:8), 0.0\n", 0, 0,
         NULL},
        {"one common byte", "DVE memset sbuf:f32(0+32, 0, 1:8), 0.0\nPOOL memset sbuf:f32(0+32, 31, 1:8), 0.0\n", 1, 0,
         "bytes 31..32"},
        {"even and odd elements", "DVE memset sbuf:f32(0+32, 0, 2:8), 0.0\nPOOL memset sbuf:f32(0+32, 4, 2:8), 0.0\n",
         0, 0, NULL},
        {"every second and every third",
         "DVE memset sbuf:f32(0+32, 0, 2:8), 0.0\nPOOL memset sbuf:f32(0+32, 4, 3:8), 0.0\n", 1, 0, NULL},
        {"every second and every third, in vain",
         "DVE memset sbuf:f32(0+32, 0, 2:2), 0.0\nPOOL memset sbuf:f32(0+32, 4, 3:2), 0.0\n", 0, 0, NULL},
        {"backwards", "DVE memset sbuf:f32(0+32, 28, -1:8), 0.0\nPOOL memset sbuf:f32(0+32, 0, 1:1), 0.0\n", 1, 0,
         NULL},
        {"other space",
         "DVE memset sbuf:f32(0+32, 0, 1:8), 0.0\nACT tensor_copy psum:f32(0+32, 0, 1:8), psum:f32(0+32, 64, 1:8)\n", 0,
         0, NULL},
        {"columns of a matrix",
         "SP dma_copy %kv:f32(0, 64:64 1:16), " A " queue=0\nACT dma_copy %kv:f32(64, 64:64 1:16), " B " queue=1\n", 0,
         0, NULL},
        {"overlapping columns",
         "SP dma_copy %kv:f32(0, 64:64 1:17), " A " queue=0 inc(s5+16)\nACT dma_copy %kv:f32(64, 64:64 1:16), " B
         " queue=1\n",
         1, 0, "tensor 'kv' bytes 64.."},
        {"rows of a matrix",
         "SP dma_copy %kv:f32(0, 64:32 1:64), " A " queue=0\nACT dma_copy %kv:f32(8192, 64:32 1:64), " B " queue=1\n",
         0, 0, NULL},
        {"an output that is an input's storage",
         "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0 inc(s5+16)\nACT dma_copy %kv2:f32(0, 64:64 1:64), " B
         " queue=1\n",
         1, 0, "the storage of 'kv2'"},
        {"a covered write is followed through what covers it",
         "DVE memset " A ", 0.0 inc(s2+1)\nPOOL memset " A ", 0.0 wait(s2>=base+1) inc(s3+1)\nACT tensor_copy " B ", " A
         " wait(s3>=base+1)\n",
         0, 0, NULL},
        {"what is left of a write that is covered in part",
         "DVE memset sbuf:f32(0+64, 0, 1:64), 0.0 inc(s2+1)\nPOOL memset sbuf:f32(0+64, 0, 1:32), 0.0 wait(s2>=base+1) "
         "inc(s3+1)\n"
         "ACT tensor_copy " B ", sbuf:f32(0+64, 128, 1:32)\n",
         1, 0, "bytes 128..256"},
        {"an accumulating matmul reads",
         "POOL memset " A ", 0.0 inc(s3+1)\nPE matmul psum:f32(0+64, 0, 1:64), " B ", " C
         " accumulate inc(s0+1)\nACT tensor_copy " A ", psum:f32(0+64, 0, 1:64) wait(s3>=base+1)\n",
         1, 0, "until s0>=base+1"},
    };
    check_rows(rows, COUNT_OF(rows), HEAD);
}

#define LOAD(engine, reg, wait) engine " reg_load r" #reg ", %pos:s32(0), 0, 63 " wait "\n"
#define ROW(reg) "%kv:f32(0+r" #reg "*256, 64:1 1:64)"
#define ONE "sbuf:f32(0+1, 0, 1:64)"
#define TWO "sbuf:f32(0+1, 256, 1:64)"

TEST(hazards, addresses_in_registers)
{
    static const row rows[] = {
        {"a row that may be the one",
         LOAD("POOL", 1, "") "POOL dma_copy " ROW(1) ", " ONE " dge=swdge queue=0 inc(s5+16)\nSP dma_copy " TWO
                                                     ", %kv:f32(256, 64:1 1:64) queue=1\n",
         0, 1, "depends on r1 of POOL (reg_load @0 from tensor 'pos', 0..63)"},
        {"ordered all the same",
         LOAD("POOL", 1, "") "POOL dma_copy " ROW(1) ", " ONE " dge=swdge queue=0 inc(s5+16)\nSP dma_copy " TWO
                                                     ", %kv:f32(256, 64:1 1:64) queue=1 wait(s5>=base+16)\n",
         0, 0, NULL},
        {"a row that it cannot be",
         "POOL reg_load r1, %pos:s32(0), 8, 63\nPOOL dma_copy " ROW(1) ", " ONE " dge=swdge queue=0\nSP dma_copy " TWO
                                                                       ", %kv:f32(256, 64:1 1:64) queue=1\n",
         0, 0, NULL},
        {"the whole tensor, whatever row",
         LOAD("POOL", 1, "") "POOL dma_copy " ROW(1) ", " ONE " dge=swdge queue=0 inc(s5+16)\nSP dma_copy " C
                                                     ", %kv:f32(0, 64:64 1:64) queue=1\n",
         1, 0, "until s5>=base+16"},
        {"the same row",
         LOAD("POOL", 1, "") LOAD("ACT", 2, "") "POOL dma_copy " ROW(
             1) ", " ONE " dge=swdge queue=0 inc(s5+16)\nACT dma_copy " TWO ", " ROW(2) " dge=hwdge queue=1\n",
         1, 0, "until s5>=base+16"},
        {"the next row",
         LOAD("POOL", 1, "") "POOL reg_alu r3, r1, 1 op=add\nPOOL dma_copy " ROW(
             1) ", " ONE " dge=swdge queue=0 inc(s5+16)\nPOOL dma_copy " TWO ", " ROW(3) " dge=swdge queue=1\n",
         0, 0, NULL},
        {"a known register",
         "POOL reg_move r1, 2\nPOOL dma_copy " ROW(1) ", " ONE " queue=0 inc(s5+16)\nSP dma_copy " TWO
                                                      ", %kv:f32(256, 64:1 1:64) queue=1\n",
         0, 0, NULL},
        {"a known register that meets",
         "POOL reg_move r1, 1\nPOOL dma_copy " ROW(1) ", " ONE " queue=0 inc(s5+16)\nSP dma_copy " TWO
                                                      ", %kv:f32(256, 64:1 1:64) queue=1\n",
         1, 0, NULL},
        {"loads of what is written are not equal",
         "POOL reg_load r1, %work:s32(0), 0, 63\nPOOL reg_store %work:s32(0), r5\nPOOL reg_load r2, %work:s32(0), 0, "
         "63\nPOOL dma_copy " ROW(1) ", " ONE " dge=swdge queue=0 inc(s5+16)\n"
                                     "POOL dma_copy " TWO ", " ROW(2) " dge=swdge queue=1\n",
         0, 1, "r1 of POOL"},
        {"other columns of any row",
         LOAD("POOL", 1, "") "POOL dma_copy %kv:f32(0+r1*256, 64:1 1:8), sbuf:f32(0+1, 0, 1:8) dge=swdge queue=0\nSP "
                             "dma_copy sbuf:f32(0+64, 1024, 1:56), %kv:f32(32, 64:64 1:56) queue=1\n",
         0, 0, NULL},
        {"gathered rows may be any",
         "POOL dma_gather " A ", %kv:f32.indirect1(0, 64:64 1:64), sbuf:s32(0+64, 2048, 1:1) dge=swdge queue=0 "
                              "inc(s5+16)\nSP dma_copy %kv:f32(0, 64:1 1:64), " TWO " queue=1\n",
         0, 1, "the rows in operand 'index' of POOL dma_gather @0"},
        {"all of a table surely meets them",
         "POOL dma_gather " A ", %kv:f32.indirect1(0, 64:64 1:64), sbuf:s32(0+64, 2048, 1:1) dge=swdge queue=0 "
                              "inc(s5+16)\nSP dma_copy %kv:f32(0, 64:64 1:64), " B " queue=1\n",
         1, 0, "until s5>=base+16"},
    };
    check_rows(rows, COUNT_OF(rows), HEAD);
}

// ---- two cores -----------------------------------------------------------------------------------------------------

#define TWO_CORES "glia-asm 1\nprogram p target trn2 cores 2\ntensor s scratch f32[64,64]\ntensor y output f32[64,64]\n"
#define CORE(n) "core " #n " sbuf=8192 psum=16384\nfunction main formals=0\nslot s = s\nslot y = y\n"
#define SAVE "SP dma_copy %s:f32(0, 64:64 1:64), " A " queue=0 inc(s5+16)\n"
#define FETCH "SP dma_copy " A ", %s:f32(0, 64:64 1:64) queue=0 inc(s5+16)\n"
#define MEET(wait) "POOL barrier id=1 " wait " inc(s3+1)\n"

static void check_cores(const char *name, const char *first, const char *second, int violated, const char *part)
{
    glia_strbuf text = {0};
    glia_putf(&text, "%s%s%send\n%s%send\n", TWO_CORES, CORE(0), first, CORE(1), second);
    const row r = {name, glia_strbuf_str(&text), violated, 0, part};
    AUTO(isa_program) p = NULL;
    parse(r.insns, &p);
    AUTO_VALUE(isa_hazard_report) got = {0};
    EXPECT_OK(isa_check_hazards(p, false, &got));
    const char *why = got.items.count ? got.items.items[0].why : "";
    if ((int)got.violated != violated || got.assumed)
        FAIL_TEST("%s: got %d violated, want %d: %s", name, (int)got.violated, violated, why);
    if (part && !strstr(why, part)) FAIL_TEST("%s: \"%s\" lacks \"%s\"", name, why, part);
    glia_strbuf_fini(&text);
}

TEST(hazards, cores_are_ordered_by_barriers_alone)
{
    check_cores("a barrier between", SAVE MEET("wait(s5>=base+16)"), MEET("") "SP wait wait(s3>=base+1)\n" FETCH, 0,
                NULL);
    check_cores("no barrier", SAVE, FETCH, 1, "missing: a barrier of both cores");
    check_cores("on either side", MEET("") FETCH, SAVE MEET("wait(s5>=base+16)"), 1, "missing: a barrier");
    check_cores("the barrier does not wait", SAVE MEET(""), MEET("") "SP wait wait(s3>=base+1)\n" FETCH, 1,
                "missing: a barrier");
    check_cores("nobody waits for the barrier", SAVE MEET("wait(s5>=base+16)"), MEET("") FETCH, 1,
                "missing: a barrier");
    check_cores("the engine of the barrier goes on behind it", SAVE MEET("wait(s5>=base+16)"),
                MEET("") "POOL dma_copy " A ", %s:f32(0, 64:64 1:64) queue=1\n", 0, NULL);
    check_cores("another barrier", SAVE MEET("wait(s5>=base+16)"),
                "POOL barrier id=2 inc(s3+1)\nSP wait wait(s3>=base+1)\n" FETCH, 1, "missing: a barrier");
    check_cores("sbuf is each core's own", "DVE memset " A ", 0.0\n", "POOL memset " A ", 0.0\n", 0, NULL);
    check_cores("both read", FETCH, FETCH, 0, NULL);
    check_cores("write after read", FETCH MEET("wait(s5>=base+16)"), MEET("") "SP wait wait(s3>=base+1)\n" SAVE, 0,
                NULL);
    check_cores("write after read that is not complete", FETCH MEET(""), MEET("") "SP wait wait(s3>=base+1)\n" SAVE, 1,
                "writes what is read by");
}

// ---- words and findings --------------------------------------------------------------------------------------------

TEST(hazards, a_violation_names_both_instructions_their_origin_and_the_memory)
{
    AUTO(isa_program) p = NULL;
    parse(HEAD "DVE memset " A ", 0.0 inc(s2+1) @1\nACT tensor_copy " B ", " A "\n" TAIL, &p);
    AUTO_VALUE(isa_hazard_report) r = {0};
    EXPECT_OK(isa_check_hazards(p, false, &r));
    EXPECT_EQ_INT(r.items.count, 1);
    const isa_hazard *h = &r.items.items[0];
    EXPECT_EQ_INT(h->verdict, ISA_VIOLATED);
    EXPECT_EQ_INT(h->kind, 0);
    EXPECT_EQ_INT(h->first.insn, 0);
    EXPECT_EQ_INT(h->second.insn, 1);
    EXPECT_EQ_STR(h->what, "sbuf partitions 0..63 bytes 0..256");
    static const char *const parts[] = {"ACT   tensor_copy", "DVE   memset", "(from '%add.7' at a.hlo:3)",
                                        "in sbuf partitions 0..63 bytes 0..256", "reads what is written by"};
    for (size_t k = 0; k < COUNT_OF(parts); k++)
        if (!strstr(h->why, parts[k])) FAIL_TEST("\"%s\" lacks \"%s\"", h->why, parts[k]);
}

TEST(hazards, a_proof_names_the_chain)
{
    AUTO(isa_program) p = NULL;
    parse(HEAD "DVE memset " A ", 0.0 inc(s2+1)\nDVE memset " C ", 0.0 inc(s2+1)\nACT tensor_copy " B ", " C
               " wait(s2>=base+2) inc(s1+1)\n"
               "POOL tensor_copy sbuf:f32(0+64, 1024, 1:64), " A " wait(s1>=base+1)\n" TAIL,
          &p);
    AUTO_VALUE(isa_hazard_report) r = {0};
    EXPECT_OK(isa_check_hazards(p, true, &r));
    EXPECT_EQ_INT(r.violated, 0);
    EXPECT_EQ_INT(r.proved, 2);
    EXPECT_EQ_INT(r.items.count, 2);
    EXPECT_EQ_STR(r.items.items[0].why, "ACT tensor_copy @2 waits s2>=base+2 (DVE memset @1)");
    EXPECT_EQ_STR(r.items.items[1].why, "POOL tensor_copy @3 waits s1>=base+1 (ACT tensor_copy @2) ; ACT tensor_copy "
                                        "@2 waits s2>=base+2 (DVE memset @1) ; "
                                        "DVE memset @1 after DVE memset @0 (same engine)");
}

static void check_wait(const isa_program *p, uint32_t insn, uint32_t wait, isa_wait_role role, const char *part)
{
    AUTO(isa_hazard_session) s = NULL;
    AUTO(glia_arena) arena = glia_arena_create();
    EXPECT_OK(isa_hazard_session_create(p, &s));
    isa_wait_finding f;
    EXPECT_OK(isa_hazard_session_without(s, (isa_place){0, 0, insn}, wait, arena, &f));
    if (f.role != role || !strstr(f.hazard.why, part))
        FAIL_TEST("instruction %u wait %u: got %d \"%s\", want %d \"%s\"", insn, wait, f.role, f.hazard.why, role,
                  part);
    isa_verdict verdict;
    const char *why;
    EXPECT_OK(isa_check_without_wait(p, (isa_place){0, 0, insn}, wait, arena, &verdict, &why));
    EXPECT_EQ_INT(verdict, role == ISA_WAIT_NEEDED    ? ISA_VIOLATED
                           : role == ISA_WAIT_ASSUMED ? ISA_ASSUMED
                                                      : ISA_PROVED);
    EXPECT_EQ_STR(why, f.hazard.why);
}

TEST(hazards, what_a_deleted_wait_leaves_behind)
{
    AUTO(isa_program) p = NULL;
    parse(HEAD "DVE memset " A ", 0.0 inc(s2+1)\n"                         // 0
               "ACT tensor_copy " B ", " A " wait(s2>=base+1) inc(s1+1)\n" // 1: needed
               "POOL tensor_copy " C ", " B
               " wait(s1>=base+1, s2>=base+1) inc(s3+1)\n" // 2: the second orders nothing that meets
               "POOL memset " A ", 1.0 wait(s1>=base+1, s2>=base+1) inc(s3+1)\n" // 3: both redundant
               "SP wait wait(s3>=base+2)\n"                                      // 4: for 6
               "POOL reg_load r1, %pos:s32(0), 0, 63\n"                          // 5
               "SP dma_copy %kv:f32(0, 64:1 1:64), " ONE " queue=0 inc(s5+16)\n" // 6
               "POOL dma_copy " TWO
               ", %kv:f32(0+r1*256, 64:1 1:64) dge=swdge queue=1 wait(s5>=base+16, s3>=base+1, s1>=base+1)\n" TAIL,
          &p); // 7
    check_wait(p, 1, 0, ISA_WAIT_NEEDED, "missing: a wait of ACT tensor_copy @1 until s2>=base+1");
    check_wait(p, 2, 0, ISA_WAIT_NEEDED, "missing: a wait of POOL tensor_copy @2 until s1>=base+1");
    check_wait(
        p, 3, 0, ISA_WAIT_REDUNDANT,
        "POOL memset @3 follows POOL tensor_copy @2 ; POOL tensor_copy @2 waits s1>=base+1 (ACT tensor_copy @1)");
    check_wait(
        p, 3, 1, ISA_WAIT_REDUNDANT,
        "POOL memset @3 waits s1>=base+1 (ACT tensor_copy @1) ; ACT tensor_copy @1 waits s2>=base+1 (DVE memset @0)");
    check_wait(p, 4, 0, ISA_WAIT_NEEDED, "SP dma_copy @6");
    check_wait(p, 7, 0, ISA_WAIT_ASSUMED, "depends on r1 of POOL");
}

TEST(hazards, a_wait_that_orders_nothing_says_so)
{
    AUTO(isa_program) p = NULL;
    parse(HEAD "DVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " C ", " B " wait(s2>=base+1) inc(s1+1)\n" TAIL, &p);
    check_wait(
        p, 1, 0, ISA_WAIT_ORDERS_NOTHING,
        "orders nothing: no access from ACT tensor_copy @1 on conflicts with one that is complete when s2>=base+1");
}

TEST(hazards, a_place_that_is_not_there_is_an_error)
{
    AUTO(isa_program) p = NULL;
    parse(HEAD "DVE memset " A ", 0.0 inc(s2+1)\nACT tensor_copy " C ", " A " wait(s2>=base+1)\n" TAIL, &p);
    AUTO(glia_arena) arena = glia_arena_create();
    isa_verdict v;
    const char *why;
    EXPECT_FAILS(isa_check_without_wait(p, (isa_place){1, 0, 0}, 0, arena, &v, &why), INVALID,
                 "core 1; the program has 1");
    EXPECT_FAILS(isa_check_without_wait(p, (isa_place){0, 1, 0}, 0, arena, &v, &why), INVALID,
                 "function 1; core 0 has 1");
    EXPECT_FAILS(isa_check_without_wait(p, (isa_place){0, 0, 2}, 0, arena, &v, &why), INVALID,
                 "instruction 2; function 'main' has 2");
    EXPECT_FAILS(isa_check_without_wait(p, (isa_place){0, 0, 1}, 1, arena, &v, &why), INVALID,
                 "wait 1; instruction 1 of function 'main' has 1");
}

TEST(hazards, generated_programs_have_none)
{
    static const char *const chips[] = {"trn1", "trn2", "trn3"};
    uint64_t proved = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        const hw_chip *chip = NULL;
        EXPECT_OK(hw_chip_find(chips[seed % 3], &chip));
        generate_options o = generate_options_of(seed, chip);
        o.core_count = seed % 3 ? 1 + (uint32_t)(seed / 3 % 2) : 1;
        AUTO(isa_program) p = generate_program(&o);
        AUTO_VALUE(isa_hazard_report) r = {0};
        EXPECT_OK(isa_check_hazards(p, false, &r));
        if (r.violated || r.assumed)
            FAIL_TEST("seed %d: %d violated, %d assumed: %s", (int)seed, (int)r.violated, (int)r.assumed,
                      r.items.items[0].why);
        proved += r.proved;
    }
    EXPECT(proved > 10000);
}

// Whatever numbers a program from a file holds: an answer or an error, no overflow.
TEST(hazards, hostile_numbers_do_no_harm)
{
    static const int64_t extremes[] = {
        0, 1, -1, 63, 1 << 20, INT32_MAX, INT32_MIN, (int64_t)1 << 40, -((int64_t)1 << 50), INT64_MAX, INT64_MIN};
    const hw_chip *chip = NULL;
    EXPECT_OK(hw_chip_find("trn2", &chip));
    int judged = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        generate_options o = generate_options_of(seed, chip);
        o.core_count = 1 + (uint32_t)(seed % 2);
        AUTO(isa_program) p = generate_program(&o);
        glia_rng r = glia_rng_of(seed);
        for (uint32_t c = 0; c < p->core_count; c++)
            for (uint32_t k = 0; k < p->cores[c].functions.count; k++) {
                isa_function *f = p->cores[c].functions.items[k];
                for (int n = 0; n < 12; n++) {
                    const int64_t v = extremes[glia_rng_below(&r, COUNT_OF(extremes))];
                    isa_operand *x = &f->operands.items[glia_rng_below(&r, f->operands.count)];
                    const int d = (int)glia_rng_below(&r, ISA_DIMS);
                    switch (glia_rng_below(&r, 6)) {
                    case 0:
                        x->offset = v;
                        break;
                    case 1:
                        x->step[d] = v;
                        break;
                    case 2:
                        if (v > 0) x->count[d] = (uint32_t)v | 1;
                        break;
                    case 3:
                        x->terms[d % ISA_TERMS].scale = v;
                        break;
                    case 4:
                        if (f->waits.count) f->waits.items[glia_rng_below(&r, f->waits.count)].value = (int32_t)v;
                        break;
                    default:
                        if (f->updates.count) f->updates.items[glia_rng_below(&r, f->updates.count)].value = (int32_t)v;
                        break;
                    }
                }
            }
        AUTO_VALUE(isa_hazard_report) report = {0};
        AUTO_STATUS s = isa_check_hazards(p, true, &report);
        judged += !s;
    }
    EXPECT(judged > 40);
}
