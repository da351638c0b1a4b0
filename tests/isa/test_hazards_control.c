// SPDX-License-Identifier: Apache-2.0
// The hazard checker over loops, branches and calls: iterations against the ones before, relative waits, what runs an
// unknown number of times, long loops that are not walked whole, and programs that are too large.
#include "harness/harness.h"
#include "isa/hazards.h"
#include "isa/text.h"

#include <time.h>

#define HEAD                                                                                                           \
    "glia-asm 1\nprogram p target trn2 cores 1\ntensor x input f32[64,64]\ntensor big output f32[4096,64]\n"           \
    "tensor kv output f32[64,64]\ntensor pos input s32[4]\ncore 0 sbuf=8192 psum=16384\n"
#define MAIN "function main formals=0\nslot x = x\nslot big = big\nslot kv = kv\nslot pos = pos\n"
#define ALL " on=PE|ACT|DVE|POOL|SP\n"
#define A "sbuf:f32(0+64, 0, 1:64)"
#define B "sbuf:f32(0+64, 256, 1:64)"
#define ONE "sbuf:f32(0+1, 1024, 1:64)"

static void check(const char *name, const char *text, int violated, int assumed, const char *part)
{
    AUTO(isa_program) p = NULL;
    EXPECT_OK(isa_parse((glia_span){(const uint8_t *)text, strlen(text)}, "test.s", &p));
    AUTO_VALUE(isa_hazard_report) r = {0};
    EXPECT_OK(isa_check_hazards(p, false, &r));
    int found[2] = {0};
    for (uint32_t k = 0; k < r.items.count; k++)
        found[r.items.items[k].verdict == ISA_ASSUMED]++;
    const char *why = r.items.count ? r.items.items[0].why : "";
    if (found[0] != violated || found[1] != assumed)
        FAIL_TEST("%s: got %d violated, %d assumed, want %d and %d: %s", name, found[0], found[1], violated, assumed,
                  why);
    bool said = !part;
    for (uint32_t k = 0; k < r.items.count; k++)
        said |= part && strstr(r.items.items[k].why, part);
    if (!said) FAIL_TEST("%s: no finding has \"%s\": %s", name, part, why);
}

// A load into A and a copy out of it, in a loop: the copy waits for the load of its iteration, the load for the copy of
// the one before.
#define PIPE(load, copy)                                                                                               \
    "SP dma_copy " A ", %x:f32(0, 64:64 1:64) queue=0 " load " inc(s5+16)\nDVE tensor_copy " B ", " A " " copy         \
    " inc(s2+1)\n"
#define LOOP(trips, body) HEAD MAIN "SP for r3, 0, " trips ", 1" ALL body "SP end_for" ALL "end\n"

TEST(hazards_control, iterations_are_held_against_those_before)
{
    check("both wait", LOOP("3", PIPE("wait(s2>=base+0)", "wait(s5>=base+16)")), 0, 0, NULL);
    check("the load does not wait for the copy before it", LOOP("3", PIPE("", "wait(s5>=base+16)")), 2, 0,
          "writes what is read by");
    check("once it need not", LOOP("1", PIPE("", "wait(s5>=base+16)")), 0, 0, NULL);
    check("never it need not either", LOOP("0", PIPE("", "")), 0, 0, NULL);
    check("the load waits for one copy too early", LOOP("3", PIPE("wait(s2>=base-1)", "wait(s5>=base+16)")), 2, 0,
          "until s2>=base+0");
    check("an absolute wait is met by the first iteration", LOOP("3", PIPE("wait(s2>=base+0)", "wait(s5>=16)")), 2, 0,
          "until s5>=base+16");
    check("many iterations", LOOP("100000", PIPE("wait(s2>=base+0)", "wait(s5>=base+16)")), 0, 0, NULL);
    check("many iterations, a wait missing", LOOP("100000", PIPE("", "wait(s5>=base+16)")), 2, 0,
          "writes what is read by");
    check("after the loop",
          HEAD MAIN "SP for r3, 0, 100000, 1" ALL PIPE("wait(s2>=base+0)",
                                                       "wait(s5>=base+16)") "SP end_for" ALL "POOL memset " B
                                                                            ", 0.0 wait(s2>=base+100000)\nend\n",
          0, 0, NULL);
    check("a semaphore of two lanes, over many iterations",
          HEAD MAIN "SP for r3, 0, 100000, 1" ALL "DVE memset " A ", 0.0 inc(s9+1)\nPOOL memset " B
                    ", 0.0 inc(s9+1)\nSP end_for" ALL "ACT tensor_copy sbuf:f32(0+64, 512, 1:64), " A
                    " wait(s9>=base+199999)\nend\n",
          1, 0, "several lanes");
    check("after the loop, one too early",
          HEAD MAIN "SP for r3, 0, 100000, 1" ALL PIPE("wait(s2>=base+0)",
                                                       "wait(s5>=base+16)") "SP end_for" ALL "POOL memset " B
                                                                            ", 0.0 wait(s2>=base+99999)\nend\n",
          1, 0, "until s2>=base+100000");
}

#define ROW_OUT                                                                                                        \
    "DVE memset " ONE ", 0.0 wait(s5>=base+0) inc(s2+1)\nSP dma_copy %big:f32(0+r3*256, 64:1 1:64), " ONE              \
    " queue=0 wait(s2>=base+1) inc(s5+16)\n"

TEST(hazards_control, addresses_that_move_with_the_loop)
{
    check("each iteration its row", LOOP("100", ROW_OUT), 0, 0, NULL);
    check("many rows", LOOP("4096", ROW_OUT), 0, 0, NULL);
    check("each iteration half a row further",
          LOOP("4096", "SP dma_copy %big:f32(0+r3*128, 64:1 1:64), " ONE " queue=0 inc(s5+16)\n"), 1, 0,
          "writes what is written by");
    // Row 2000 is written in the middle of the loop, which is not walked.
    check("a row in the middle, read afterwards",
          HEAD MAIN "SP for r3, 0, 4096, 1" ALL ROW_OUT "SP end_for" ALL
                    "ACT dma_copy sbuf:f32(0+1, 2048, 1:64), %big:f32(512000, 64:1 1:64) queue=1\nend\n",
          1, 0, "reads what is written by");
    check("a row past the end",
          HEAD MAIN "SP for r3, 0, 2000, 1" ALL ROW_OUT "SP end_for" ALL
                    "ACT dma_copy sbuf:f32(0+1, 2048, 1:64), %big:f32(512000, 64:1 1:64) queue=1\nend\n",
          0, 0, NULL);
    check("odd rows",
          HEAD MAIN "SP for r3, 0, 4096, 2" ALL ROW_OUT "SP end_for" ALL
                    "ACT dma_copy sbuf:f32(0+1, 2048, 1:64), %big:f32(512256, 64:1 1:64) queue=1\nend\n",
          0, 0, NULL);
}

#define TRIPS(low, high)                                                                                               \
    HEAD MAIN "SP reg_load r1, %pos:s32(0), " low ", " high "\nDVE reg_load r1, %pos:s32(0), " low ", " high "\n"
#define SOME(body) "SP for r3, 0, r1, 1" ALL body "SP end_for" ALL

TEST(hazards_control, loops_of_unknown_length)
{
    check("relative waits hold for any number",
          TRIPS("0", "9") SOME(PIPE("wait(s2>=base+0)", "wait(s5>=base+16)")) "end\n", 0, 0, NULL);
    check("a missing one shows", TRIPS("0", "9") SOME(PIPE("", "wait(s5>=base+16)")) "end\n", 2, 0,
          "writes what is read by");
    check("once at most, it need not wait", TRIPS("0", "1") SOME(PIPE("", "wait(s5>=base+16)")) "end\n", 0, 0, NULL);
    // What only the loop waits for is not known if the loop is not run.
    check("a loop that may not run proves nothing",
          TRIPS("0", "9") "DVE memset " A
                          ", 0.0 inc(s2+1)\n" SOME("ACT wait wait(s2>=base+0) inc(s1+1)\n") "ACT tensor_copy " B ", " A
                                                                                            "\nend\n",
          1, 0, "reads what is written by");
    check("one that runs does",
          TRIPS("1", "9") "DVE memset " A
                          ", 0.0 inc(s2+1)\n" SOME("ACT wait wait(s2>=base+0) inc(s1+1)\n") "ACT tensor_copy " B ", " A
                                                                                            "\nend\n",
          0, 0, NULL);
    // A count that goes on behind a loop of unknown length is not known from before it.
    check("a count across the loop",
          TRIPS("0", "9") SOME(PIPE("wait(s2>=base+0)", "wait(s5>=base+16)")) "DVE memset " B
                                                                              ", 0.0 inc(s2+1)\nPOOL memset " B
                                                                              ", 1.0 wait(s2>=4)\nend\n",
          1, 0, "writes what is written by");
    check("rows of an unknown loop",
          TRIPS("0", "9")
              SOME(ROW_OUT) "ACT dma_copy sbuf:f32(0+1, 2048, 1:64), %big:f32(512, 64:1 1:64) queue=1\nend\n",
          0, 1, "depends on r3");
    check("rows that it cannot reach",
          TRIPS("0", "9")
              SOME(ROW_OUT) "ACT dma_copy sbuf:f32(0+1, 2048, 1:64), %big:f32(2560, 64:1 1:64) queue=1\nend\n",
          0, 0, NULL);
    check("a register that the loop counts up",
          TRIPS("0", "9") SOME("SP reg_alu r5, r5, 1 op=add\n") "SP dma_copy %kv:f32(0+r5*256, 64:1 1:64), " ONE
                                                                " dge=hwdge queue=0\nACT dma_copy sbuf:f32(0+1, 2048, "
                                                                "1:64), %kv:f32(2048, 64:1 1:64) queue=1\nend\n",
          0, 1, "depends on r5 of SP");
    // The walk stands for any number of iterations: five rows before the last one is a row of a longer loop.
    check("a row that only a longer loop reaches",
          TRIPS("0", "9")
              SOME("SP dma_copy %kv:f32(0+r3*256, 64:1 1:64), " ONE
                   " dge=hwdge queue=0 wait(s5>=base+0) inc(s5+16)\n") "SP reg_alu r6, r3, 5 op=subtract\nSP dma_copy "
                                                                       "sbuf:f32(0+1, 2048, 1:64), %kv:f32(0+r6*256, "
                                                                       "64:1 1:64) dge=hwdge queue=1\nend\n",
          0, 1, "of SP");
    check("a while loop",
          HEAD MAIN
          "SP reg_load r1, %pos:s32(0), 0, 9\nDVE reg_load r1, %pos:s32(0), 0, 9\nSP while r1, 0 compare=greater" ALL
              PIPE("", "wait(s5>=base+16)") "SP reg_alu r1, r1, 1 op=subtract\nDVE reg_alu r1, r1, 1 op=subtract\nSP "
                                            "end_while" ALL "end\n",
          2, 0, "writes what is read by");
}

#define CHOICE                                                                                                         \
    HEAD MAIN "SP reg_load r1, %pos:s32(0)\nDVE reg_load r1, %pos:s32(0)\nACT reg_load r1, %pos:s32(0)\nPOOL "         \
              "reg_load r1, %pos:s32(0)\n"
#define IF "SP if r1, 0 compare=greater" ALL
#define ELSE "SP else" ALL
#define FI "SP end_if" ALL

TEST(hazards_control, both_arms_are_judged)
{
    check("only the first arm races",
          CHOICE "DVE memset " A ", 0.0 inc(s2+1)\n" IF "ACT tensor_copy " B ", " A " inc(s1+1)\n" ELSE
                 "ACT wait inc(s1+1)\n" FI "end\n",
          1, 0, "ACT tensor_copy @6");
    check("only the second arm races",
          CHOICE "DVE memset " A ", 0.0 inc(s2+1)\n" IF "ACT wait inc(s1+1)\n" ELSE "ACT tensor_copy " B ", " A
                 " inc(s1+1)\n" FI "end\n",
          1, 0, "ACT tensor_copy @8");
    check("one arm waits, the other does not",
          CHOICE "DVE memset " A ", 0.0 inc(s2+1)\n" IF "ACT wait wait(s2>=base+1) inc(s1+1)\n" ELSE
                 "ACT wait inc(s1+1)\n" FI "ACT tensor_copy " B ", " A "\nend\n",
          1, 0, "ACT tensor_copy");
    check("both wait",
          CHOICE "DVE memset " A ", 0.0 inc(s2+1)\n" IF "ACT wait wait(s2>=base+1) inc(s1+1)\n" ELSE
                 "ACT wait wait(s2>=1) inc(s1+1)\n" FI "ACT tensor_copy " B ", " A "\nend\n",
          0, 0, NULL);
    check("arms of two iterations",
          CHOICE "SP for r3, 0, 2, 1" ALL IF "DVE memset " A ", 0.0 inc(s2+1)\n" ELSE "POOL memset " A
                 ", 1.0 inc(s2+1)\n" FI "SP end_for" ALL "end\n",
          2, 0, "writes what is written by");
    check("a condition that is known",
          HEAD MAIN "SP reg_move r1, 0\nDVE memset " A ", 0.0 inc(s2+1)\n" IF "ACT tensor_copy " B ", " A "\n" FI
                    "end\n",
          0, 0, NULL);
}

#define BODY                                                                                                           \
    "function layer formals=2\nslot from formal read bytes=4096\nslot to formal write bytes=4096\nslot pos = pos\n"
#define STEP                                                                                                           \
    "SP dma_copy sbuf:f32(0+16, 0, 1:64), %from:f32(0, 64:16 1:64) queue=0 wait(s5>=base+0) inc(s5+16)\nSP dma_copy "  \
    "%to:f32(0, 64:16 1:64), sbuf:f32(0+16, 0, 1:64) queue=0 wait(s5>=base+16) inc(s5+16)\n"
#define CALLED(rows, calls) HEAD "table 0 formals=2\n" rows "end\n" MAIN calls "end\n" BODY STEP "end\n"

TEST(hazards_control, calls_are_judged_with_their_bindings)
{
    check("from one part to the next",
          CALLED("row 0+0 2+0\nrow 2+0 2+4096\n", "SP call 1, 0, 0" ALL "SP call 1, 0, 1" ALL), 0, 0, NULL);
    // Without waits between calls: the second body may read before the first has written.
    const char *const loose =
        "SP dma_copy sbuf:f32(0+16, 0+r7*256, 1:64), %from:f32(0, 64:16 1:64) queue=0 inc(s5+16)\n"
        "SP dma_copy %to:f32(0, 64:16 1:64), sbuf:f32(0+16, 0+r7*256, 1:64) queue=1 wait(s5>=base+16) inc(s6+16)\nSP "
        "reg_alu r7, r7, 1 op=add\n";
    glia_strbuf text = {0};
    glia_putf(&text, "%s%s%s%s%s", HEAD "table 0 formals=2\nrow 0+0 2+0\nrow 2+0 2+4096\nend\n" MAIN,
              "SP call 1, 0, 0" ALL "SP call 1, 0, 1" ALL "end\n", BODY, loose, "end\n");
    check("the second reads what the first writes", glia_strbuf_str(&text), 1, 0, "SP dma_copy layer@0");
    glia_strbuf_clear(&text);
    glia_putf(&text, "%s%s%s%s%s", HEAD "table 0 formals=2\nrow 0+0 2+0\nrow 0+0 2+4096\nend\n" MAIN,
              "SP call 1, 0, 0" ALL "SP call 1, 0, 1" ALL "end\n", BODY, loose, "end\n");
    check("other rows do not meet", glia_strbuf_str(&text), 0, 0, NULL);
    glia_strbuf_clear(&text);
    glia_putf(&text, "%s%s%s%s%s", HEAD "table 0 formals=2\nrow 0+0 2+0\nrow 0+0 2+4096\nend\n" MAIN,
              "SP reg_load r4, %pos:s32(0), 0, 1\nSP call 1, 0, r4" ALL "SP call 1, 0, 1" ALL "end\n", BODY, loose,
              "end\n");
    check("a row that is not known", glia_strbuf_str(&text), 0, 1, "the row register of the call");
    glia_strbuf_fini(&text);
}

TEST(hazards_control, programs_beyond_any_size_are_refused)
{
    // 32 functions, each of which calls the next one ten times.
    glia_strbuf text = {0};
    glia_put(&text, HEAD MAIN);
    for (int f = 0; f < 24; f++) {
        if (f) glia_putf(&text, "function f%d formals=0\n", f);
        for (int k = 0; k < 10 && f < 23; k++)
            glia_putf(&text, "SP call %d" ALL, f + 1);
        glia_put(&text, "DVE memset " A ", 0.0 inc(s2+1)\nend\n");
    }
    AUTO(isa_program) p = NULL;
    EXPECT_OK(isa_parse(glia_strbuf_span(&text), "test.s", &p));
    AUTO_VALUE(isa_hazard_report) r = {0};
    EXPECT_FAILS(isa_check_hazards(p, false, &r), EXHAUSTED, "expands to more than");
    glia_strbuf_fini(&text);
}

// A stack of 3,000 equal bodies: what a whole model is like. Each deletion is judged in milliseconds.
TEST(hazards_control, deletions_in_a_large_program_are_quick)
{
    glia_strbuf text = {0};
    glia_put(&text, HEAD MAIN);
    for (int k = 0; k < 3000; k++)
        glia_put(&text, "SP call 1" ALL);
    glia_put(&text, "end\nfunction layer formals=0\nslot x = x\n");
    for (int k = 0; k < 16; k++)
        glia_putf(&text,
                  "SP dma_copy sbuf:f32(0+64, %d, 1:16), %%x:f32(0, 64:64 1:16) queue=0 wait(s2>=base%+d) "
                  "inc(s5+16)\nDVE tensor_copy " B ", sbuf:f32(0+64, %d, 1:16) wait(s5>=base+%d) inc(s2+1)\n",
                  512 + 64 * k, k - 15, 512 + 64 * k, 16 * (k + 1));
    glia_put(&text, "end\n");
    AUTO(isa_program) p = NULL;
    EXPECT_OK(isa_parse(glia_strbuf_span(&text), "test.s", &p));
    const clock_t begin = clock();
    AUTO(isa_hazard_session) s = NULL;
    AUTO(glia_arena) arena = glia_arena_create();
    EXPECT_OK(isa_hazard_session_create(p, &s));
    EXPECT_EQ_INT(isa_hazard_session_instances(s), 3000 * 32);
    for (uint32_t insn = 0; insn < 32; insn++) {
        isa_wait_finding f;
        EXPECT_OK(isa_hazard_session_without(s, (isa_place){0, 1, insn}, 0, arena, &f));
        EXPECT_EQ_INT(f.role, ISA_WAIT_NEEDED);
    }
    EXPECT((double)(clock() - begin) / CLOCKS_PER_SEC < 20);
    glia_strbuf_fini(&text);
}
