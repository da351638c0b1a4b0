// SPDX-License-Identifier: Apache-2.0
// `glia generate` and `glia eval` as processes, on the tiny checkpoint: the fields that --json promises, numbers that
// agree with each other, and the sentence and exit code of each mistake.
#include "serve/kit.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "model/make_gguf.h"

typedef struct answer {
    int code;
    char *out, *err;
    size_t out_size;
} answer;

static char folder[96];

static void remove_folder(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)!system(command);
}

static const char *in_folder(const char *name)
{
    static char paths[8][160];
    static int next;
    if (!*folder) {
        (void)snprintf(folder, sizeof folder, "/tmp/glia-cli-%ld", (long)getpid());
        EXPECT_OK(glia_dir_create(folder));
        (void)atexit(remove_folder);
    }
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static char *read_text(const char *path, size_t *size)
{
    glia_map map;
    EXPECT_OK(glia_map_open(path, &map));
    char *text = glia_alloc(map.bytes.size + 1);
    if (map.bytes.size) memcpy(text, map.bytes.data, map.bytes.size);
    if (size) *size = map.bytes.size;
    glia_map_fini(&map);
    return text;
}

static const char *glia_env = ""; // variables of the next runs: "NAME=value"
static answer glia(const char *format, ...) GLIA_PRINTF(1, 2);
static answer glia(const char *format, ...)
{
    char words[2048], command[4096];
    answer a;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    const char *out = in_folder("stdout"), *err = in_folder("stderr");
    // A device that a test opened has set the first two.
    (void)snprintf(command, sizeof command,
                   "env -u NEURON_LOGICAL_NC_CONFIG -u GLIA_INSTANCE NEURON_COMPILE_CACHE_URL='%s/cache' %s '%s/bin/glia' %s >'%s' 2>'%s'", folder, glia_env,
                   GLIA_BINARY_DIR, words, out, err);
    const int status = system(command);
    a.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    a.out = read_text(out, &a.out_size);
    a.err = read_text(err, NULL);
    return a;
}

static void answer_free(answer *a)
{
    glia_free(a->out);
    glia_free(a->err);
}

static const glia_json *parse(glia_arena *arena, const answer *a)
{
    glia_json *json = NULL;
    if (a->code) FAIL_TEST("exit code %d: %s", a->code, a->err);
    EXPECT_OK(glia_json_parse(arena, (glia_span){(const uint8_t *)a->out, a->out_size}, "stdout", &json));
    return json;
}

// "predicted.tpot_ms": the value at this path.
static const glia_json *at(const glia_json *json, const char *path)
{
    char key[64];
    for (const char *from = path; json && *from;) {
        const size_t n = strcspn(from, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, from);
        json = glia_json_find(json, key);
        from += n + (from[n] == '.');
    }
    if (!json) FAIL_TEST("the document has no '%s'", path);
    return json;
}

static double number(const glia_json *json, const char *path)
{
    const glia_json *v = at(json, path);
    if (v->kind != GLIA_JSON_NUMBER) FAIL_TEST("'%s' is no number", path);
    return v->number;
}

// ---- generate ------------------------------------------------------------------------------------------------------

TEST(cli_generate, json_has_every_promised_field_and_they_agree)
{
    static const char *const numbers[] = {
        "measured.ttft_ms",
        "measured.tpot_ms",
        "predicted.ttft_ms",
        "predicted.tpot_ms",
        "predicted.cost_usd_per_million_tokens",
        "predicted.mfu",
        "predicted.mbu",
        "hbm_bytes.tensors",
        "hbm_bytes.model_code",
    };
    AUTO(glia_arena) arena = glia_arena_create();
    answer a = glia("generate --model '%s' --prompt 'the river' --max-tokens 12 --temperature 0 --dtype fp32 "
                    "--instance trn2.3xlarge --ignore-eos --json",
                    kit_model());
    const glia_json *json = parse(arena, &a);
    EXPECT_EQ_STR(at(json, "schema")->string, "glia.generate/1");
    EXPECT_EQ_STR(at(json, "predicted.instance")->string, "trn2.3xlarge");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        EXPECT(number(json, numbers[i]) > 0);
    EXPECT_EQ_INT(at(json, "prompt_ids")->size, 3);
    EXPECT_EQ_INT(at(json, "prompt_ids")->items[0].integer, 2);
    EXPECT_EQ_INT(at(json, "ids")->size, 12);
    EXPECT(at(json, "text")->size > 0);
    EXPECT_EQ_INT(at(json, "neff")->size, 2);
    for (size_t i = 0; i < 2; i++) {
        const glia_json *neff = &at(json, "neff")->items[i];
        EXPECT_EQ_INT(at(neff, "sha256")->size, 64);
        EXPECT(number(neff, "instructions.matmul") > 0 && number(neff, "instructions.dma_copy") > 0);
        EXPECT(number(neff, "soft_instructions") == 0);
    }
    EXPECT(at(json, "assumptions")->size > 0);
    EXPECT(at(&at(json, "assumptions")->items[0], "text")->size > 0);
    // The instance filled: four logical cores at the price of an hour.
    const double usd = number(json, "predicted.cost.usd_per_hour") / 3600 /
                       number(json, "predicted.cost.logical_cores") * number(json, "predicted.cost.tpot_ms_filled") *
                       1e3;
    EXPECT_NEAR(number(json, "predicted.cost_usd_per_million_tokens"), usd, 1e-9 * usd);
    double total = 0;
    const glia_json *memory = at(json, "hbm_bytes");
    for (size_t i = 0; i < memory->size; i++)
        total += memory->items[i].number;
    EXPECT(total == number(json, "hbm_total_bytes"));
    answer_free(&a);
}

TEST(cli_generate, streamed_objects_join_to_the_document)
{
    AUTO(glia_arena) arena = glia_arena_create();
    AUTO_VALUE(glia_strbuf) joined = {0};
    answer a =
        glia("generate -m '%s' -p 'a tree' -n 9 -t 1.3 --top-k 40 --top-p 0.9 --seed 5 --json --stream", kit_model());
    EXPECT_EQ_INT(a.code, 0);
    const glia_json *last = NULL;
    for (const char *line = a.out; *line;) {
        const size_t n = strcspn(line, "\n");
        glia_json *json = NULL;
        EXPECT_OK(glia_json_parse(arena, (glia_span){(const uint8_t *)line, n}, "line", &json));
        if (!strcmp(at(json, "schema")->string, "glia.generate.token/1"))
            glia_put(&joined, at(json, "text")->string);
        else
            last = json;
        line += n + (line[n] == '\n');
    }
    EXPECT(last != NULL);
    EXPECT_EQ_STR(at(last, "schema")->string, "glia.generate/1");
    EXPECT_EQ_STR(at(last, "text")->string, glia_strbuf_str(&joined));
    answer_free(&a);
}

TEST(cli_generate, seeds_variables_and_targets_are_heard)
{
    AUTO(glia_arena) arena = glia_arena_create();
    answer a = glia("generate -m '%s' -p 'a tree' -n 12 -t 1.5 --seed 5 --json --compare trn1,trn3", kit_model());
    EXPECT(setenv("GLIA_SEED", "5", 1) == 0);
    answer b = glia("generate -m '%s' -p 'a tree' -n 12 -t 1.5 --json", kit_model());
    EXPECT(unsetenv("GLIA_SEED") == 0);
    answer c = glia("generate -m '%s' -p 'a tree' -n 12 -t 1.5 --seed 6 --json", kit_model());
    const glia_json *first = parse(arena, &a), *same = parse(arena, &b), *other = parse(arena, &c);
    EXPECT_EQ_STR(at(first, "text")->string, at(same, "text")->string);
    EXPECT(strcmp(at(first, "text")->string, at(other, "text")->string) != 0);
    EXPECT_EQ_INT(at(first, "compared")->size, 2);
    EXPECT_EQ_STR(at(&at(first, "compared")->items[0], "instance")->string, "trn1.2xlarge");
    EXPECT_EQ_STR(at(&at(first, "compared")->items[1], "target")->string, "trn3");
    for (size_t i = 0; i < 2; i++)
        EXPECT(number(&at(first, "compared")->items[i], "tpot_ms") != number(first, "predicted.tpot_ms"));
    answer_free(&a);
    answer_free(&b);
    answer_free(&c);
}

TEST(cli_generate, text_is_on_stdout_with_what_was_measured_and_simulated)
{
    answer a = glia("generate -m '%s' -p 'the river' -n 4 --instance trn1.2xlarge", kit_model());
    EXPECT_EQ_INT(a.code, 0);
    EXPECT_EQ_STR(a.err, "");
    EXPECT(!strncmp(a.out, "the river", 9));
    static const char *const words[] = {"measured   on this host: TTFT",
                                        "simulated  trn1.2xlarge, LNC 1: TTFT",
                                        "MFU",
                                        "MBU",
                                        "per million tokens",
                                        "HBM",
                                        "assumed"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (!strstr(a.out, words[i])) FAIL_TEST("'%s' is missing in: %s", words[i], a.out);
    answer_free(&a);
}

// ---- eval ----------------------------------------------------------------------------------------------------------

// The elements of a .npy file of float32, whose header must say [rows, columns].
static float *read_npy(const char *path, int rows, int columns)
{
    size_t size;
    char want[64], *bytes = read_text(path, &size);
    EXPECT(size > 128 && !memcmp(bytes, "\x93NUMPY\x01\x00", 8));
    const size_t header = 10 + (size_t)(uint8_t)bytes[8] + 256 * (size_t)(uint8_t)bytes[9];
    EXPECT_EQ_INT(header % 64, 0);
    (void)snprintf(want, sizeof want, "'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), ", rows, columns);
    if (!strstr(bytes + 10, want)) FAIL_TEST("header is %s", bytes + 10);
    EXPECT_EQ_INT(size, header + (size_t)rows * (size_t)columns * sizeof(float));
    float *values = glia_alloc(size - header);
    memcpy(values, bytes + header, size - header);
    glia_free(bytes);
    return values;
}

TEST(cli_eval, logits_are_a_float32_array_of_tokens_by_vocabulary)
{
    const int32_t ids[] = {2, 300, 310, 320, 330};
    serve_engine *e = kit_open(&(kit_options){.context = 512, .buckets = {128}, .bucket_count = 1});
    const int vocab = serve_engine_config(e)->vocab;
    float *want = kit_score(e, ids, 5);
    kit_close(e);
    const char *path = in_folder("out.npy");
    answer a = glia("eval --model '%s' --ids 2,300,310,320,330 --dtype fp32 --logits '%s'", kit_model(), path);
    if (a.code) FAIL_TEST("exit code %d: %s", a.code, a.err);
    float *got = read_npy(path, 5, vocab);
    EXPECT(!memcmp(got, want, 5 * (size_t)vocab * sizeof *got));
    glia_free(got);
    glia_free(want);
    answer_free(&a);
}

// The tiny checkpoint as a Hugging Face folder: other names, and norm weights less one.
static void write_hf_folder(const char *path)
{
    AUTO(model_checkpoint) cp = NULL;
    model_config from, to;
    safetensors_maker maker = safetensors_make();
    AUTO_VALUE(glia_strbuf) text = {0};
    char name[128];
    EXPECT_OK(model_checkpoint_open(kit_model(), &cp));
    EXPECT_OK(model_config_read(cp, &from));
    EXPECT_OK(glia_dir_create(path));
    glia_putf(&text,
              "{\"model_type\":\"gemma3_text\",\"num_hidden_layers\":%d,\"hidden_size\":%d,\"intermediate_size\":%d,"
              "\"vocab_size\":%d,\"num_attention_heads\":%d,\"num_key_value_heads\":%d,\"head_dim\":%d,"
              "\"max_position_embeddings\":%d,\"rms_norm_eps\":1e-6,\"sliding_window\":%d,\"sliding_window_pattern\":2,"
              "\"rope_theta\":1e6,\"rope_local_base_freq\":1e4,\"query_pre_attn_scalar\":%d}",
              from.n_layers, from.d_model, from.d_ff, from.vocab, from.n_heads, from.n_kv_heads, from.head_dim,
              from.context_length, from.sliding_window, from.head_dim);
    EXPECT_OK(model_config_parse_json(glia_strbuf_span(&text), "config.json", &to));
    (void)snprintf(name, sizeof name, "%s/config.json", path);
    EXPECT_OK(glia_file_write_atomic(name, glia_strbuf_span(&text)));
    for (int r = 0; r < MODEL_ROLE_COUNT; r++) {
        const bool per_layer = model_role_is_per_layer((model_role)r);
        if (!model_role_exists(&to, (model_role)r) || r == MODEL_ROLE_OUTPUT) continue;
        for (int layer = 0; layer < (per_layer ? from.n_layers : 1); layer++) {
            const model_tensor *t;
            EXPECT_OK(model_tensor_of(&from, cp, (model_role)r, layer, &t));
            const size_t bytes = t->elements * sizeof(float);
            float *values = glia_alloc(bytes);
            EXPECT_OK(model_tensor_read(t, NUM_F32, values, bytes, NULL));
            for (uint64_t i = 0; t->rank == 1 && i < t->elements; i++)
                values[i] -= 1;
            model_tensor_name(&to, (model_role)r, layer, name, sizeof name);
            safetensors_make_tensor(&maker, name, "F32", (uint32_t)t->rank, t->shape, values, bytes);
            glia_free(values);
        }
    }
    glia_strbuf_clear(&text);
    safetensors_make_finish(&maker, &text);
    (void)snprintf(name, sizeof name, "%s/model.safetensors", path);
    EXPECT_OK(glia_file_write_atomic(name, glia_strbuf_span(&text)));
}

TEST(cli_eval, a_hugging_face_folder_gives_the_logits_of_its_gguf)
{
    const char *hf = in_folder("hf"), *one = in_folder("gguf.npy"), *two = in_folder("hf.npy");
    AUTO(glia_arena) arena = glia_arena_create();
    write_hf_folder(hf);
    answer a = glia("eval -m '%s' --ids 2,300,310,320,330,340 --dtype fp32 --logits '%s' --json", kit_model(), one);
    answer b = glia("eval -m '%s' --ids 2,300,310,320,330,340 --dtype fp32 --logits '%s' --json", hf, two);
    const glia_json *gguf = parse(arena, &a), *folder_json = parse(arena, &b);
    EXPECT_EQ_INT(number(gguf, "tokens"), 6);
    const int vocab = (int)number(folder_json, "vocab");
    float *x = read_npy(one, 6, vocab), *y = read_npy(two, 6, vocab);
    const double difference = kit_largest_difference(x, y, 6 * (size_t)vocab);
    if (!(difference < 1e-4)) FAIL_TEST("largest difference is %g", difference); // weights less one and back, in fp32
    glia_free(x);
    glia_free(y);
    answer_free(&a);
    answer_free(&b);
}

TEST(cli_eval, perplexity_of_a_file)
{
    static const char text[] = "the old house in the north and the river";
    AUTO(glia_arena) arena = glia_arena_create();
    EXPECT_OK(glia_file_write_atomic(in_folder("text.txt"), (glia_span){(const uint8_t *)text, strlen(text)}));
    answer a = glia("eval --model '%s' --file '%s' --dtype fp32 --json", kit_model(), in_folder("text.txt"));
    const glia_json *json = parse(arena, &a);
    EXPECT(number(json, "tokens") >= 9);
    EXPECT(number(json, "perplexity") > 1);
    EXPECT_NEAR(number(json, "perplexity"), exp(number(json, "nll") / number(json, "tokens")),
                1e-9 * number(json, "perplexity"));
    answer_free(&a);
}

// ---- mistakes ------------------------------------------------------------------------------------------------------

static void expect_mistake(answer a, int code, const char *text)
{
    if (a.code != code || !strstr(a.err, text))
        FAIL_TEST("exit code %d, \"%s\"; want %d and \"%s\"", a.code, a.err, code, text);
    EXPECT_EQ_STR(a.out, "");
    answer_free(&a);
}

TEST(cli_mistakes, each_gets_its_sentence_and_its_exit_code)
{
    const char *m = kit_model(), *bad = in_folder("bad.gguf"), *cut = in_folder("cut.gguf");
    size_t size;
    char *bytes = read_text(m, &size);
    EXPECT_OK(glia_file_write_atomic(bad, (glia_span){(const uint8_t *)"not a model", 11}));
    EXPECT_OK(glia_file_write_atomic(cut, (glia_span){(const uint8_t *)bytes, size / 2}));
    glia_free(bytes);
    expect_mistake(glia("generate --model /nowhere.gguf --prompt a"), 5, "'/nowhere.gguf'");
    expect_mistake(glia("generate --model '%s' --prompt a", bad), 3, "bad.gguf");
    expect_mistake(glia("generate --model '%s' --prompt a", cut), 3, "cut.gguf");
    expect_mistake(glia("generate --model '%s' --prompt a --max-tokesn 3", m), 2, "the nearest is '--max-tokens'");
    expect_mistake(glia("generate --model '%s' --prompt a --max-tokens x", m), 2, "'x'; it must be a whole number");
    expect_mistake(glia("generate --model '%s' --prompt a --max-tokens 0", m), 2, "'--max-tokens' is 0");
    expect_mistake(glia("generate --model '%s' --prompt a --top-p 1.5", m), 2, "'--top-p' is 1.5");
    expect_mistake(glia("generate --model '%s' --prompt a --dtype fp8", m), 2, "'--dtype' is 'fp8'");
    expect_mistake(glia("generate --model '%s'", m), 2, "'--prompt' is missing");
    expect_mistake(glia("generate --model '%s' --prompt a --instance trn9.huge", m), 5, "'trn9.huge'");
    expect_mistake(glia("generate --model '%s' --prompt a --instance trn1.2xlarge --lnc 2", m), 2, "'trn1' has at most 1");
    expect_mistake(glia("generate --model '%s' --prompt a --context 600", m), 3, "the model was trained for 1 to 512");
    expect_mistake(glia("generate --model '%s' --prompt a --buckets 128,64", m), 3, "prefill bucket 64 follows 128");
    expect_mistake(glia("generate --model '%s' --prompt 'the river in the north' --context 4", m), 3,
                   "the context is 4");
    expect_mistake(glia("eval --model '%s' --ids 2,99999", m), 3, "id 99999");
    expect_mistake(glia("eval --model '%s' --ids 2,,3", m), 2, "number 2 is ''");
    expect_mistake(glia("eval --model '%s'", m), 2, "--ids or --file");
    expect_mistake(glia("eval --model '%s' --ids 2 --logits /nowhere/out.npy", m), 5, "'/nowhere/out.npy'");
    expect_mistake(glia("eval --model '%s' --ids 2 --logits /dev/full", m), 6, "'/dev/full' cannot be written: No space left");
    expect_mistake(glia("eval --model '%s' --ids 5,6,600", m), 3, "token 3 of 3 is id 600");
    expect_mistake(glia("eval --model '%s' --ids 5,6,x", m), 2, "number 3 is 'x'");
    expect_mistake(glia("generate --model '%s' --prompt \"$(printf 'a\\377b')\"", m), 2, "'--prompt' is not UTF-8: byte 2 is 0xff");
    expect_mistake(glia("generate --model '%s' --prompt 'the river in the north' --context 4 -n8", m), 3, "which has room for 8 tokens after it");
    expect_mistake(glia("generate --model '%s' --prompt a -c 600", m), 3, "hint: pass --context 512 or less");
}

// Nothing is computed for an answer that has nowhere to go, or whose question has a wrong name: neither compiled nor loaded.
TEST(cli_mistakes, names_and_places_are_judged_before_the_work)
{
    const char *m = kit_model();
    glia_env = "NEURON_COMPILE_CACHE_URL=/tmp/glia-cli-none";
    expect_mistake(glia("generate --model '%s' --prompt a --compare trn1,foo", m), 5, "'foo'");
    expect_mistake(glia("eval --model '%s' --ids 2 --logits /nowhere/out.npy", m), 5, "'/nowhere/out.npy'");
    expect_mistake(glia("eval --model '%s' --ids 2,9999", m), 3, "token 2 of 2");
    expect_mistake(glia("generate --model '%s' --prompt 'the river in the north' --context 4", m), 3, "the context is 4");
    glia_env = "";
    EXPECT(!glia_file_exists("/tmp/glia-cli-none/glia-" GLIA_VERSION));
}

TEST(cli_generate, a_prompt_past_the_largest_bucket_says_what_was_added_and_what_ran)
{
    AUTO(glia_arena) arena = glia_arena_create();
    answer a = glia("generate -m '%s' -p 'the old house in the north and the river' -n2 --buckets 4 --json", kit_model());
    const glia_json *json = parse(arena, &a);
    EXPECT_EQ_INT(number(json, "measured.bucket"), 16);
    EXPECT_EQ_INT(number(json, "predicted.bucket"), 16);
    EXPECT(at(json, "measured.bucket_added")->boolean);
    EXPECT(strstr(a.err, "no bucket of 4 holds the prompt's"));
    answer b = glia("generate -m '%s' -p 'the old house in the north and the river' -n2 --buckets 16 --json -q", kit_model());
    const glia_json *given = parse(arena, &b);
    EXPECT_EQ_STR(b.err, "");
    EXPECT(!at(given, "measured.bucket_added")->boolean);
    EXPECT(number(given, "predicted.ttft_ms") == number(json, "predicted.ttft_ms"));
    answer c = glia("eval -m '%s' --ids 2,300,301,302,303 --buckets 4", kit_model());
    EXPECT_EQ_INT(c.code, 0);
    EXPECT(strstr(c.err, "of 5 tokens 1 are past the largest bucket"));
    answer_free(&a);
    answer_free(&b);
    answer_free(&c);
}

TEST(cli_generate, the_runtimes_variable_decides_lnc_where_no_flag_does)
{
    AUTO(glia_arena) arena = glia_arena_create();
    glia_env = "NEURON_LOGICAL_NC_CONFIG=1";
    answer a = glia("generate -m '%s' -p a -n 1 --json", kit_model());
    answer b = glia("generate -m '%s' -p a -n 1 --lnc 2 --json", kit_model());
    EXPECT_EQ_INT(number(parse(arena, &a), "predicted.lnc"), 1);
    EXPECT_EQ_INT(number(parse(arena, &b), "predicted.lnc"), 2);
    glia_env = "NEURON_LOGICAL_NC_CONFIG=1 NEURON_RT_VIRTUAL_CORE_SIZE=2";
    expect_mistake(glia("generate -m '%s' -p a -n 1", kit_model()), 2, "NEURON_RT_VIRTUAL_CORE_SIZE is 2, but NEURON_LOGICAL_NC_CONFIG is 1");
    glia_env = "NEURON_LOGICAL_NC_CONFIG=3";
    expect_mistake(glia("generate -m '%s' -p a -n 1", kit_model()), 2, "NEURON_LOGICAL_NC_CONFIG is '3'; it must be 1 or 2");
    glia_env = "";
    answer_free(&a);
    answer_free(&b);
}

TEST(cli_generate, each_assumption_is_told_once_and_when_asked_for)
{
    answer a = glia("generate -m '%s' -p a -n 2", kit_model());
    answer b = glia("generate -m '%s' -p a -n 2 --assumptions", kit_model());
    EXPECT(!strstr(a.out, "core:issue.semaphore ("));
    EXPECT(strstr(a.out, "--assumptions tells all"));
    const char *first = strstr(b.out, "core:issue.semaphore (");
    EXPECT(first && !strstr(first + 1, "core:issue.semaphore ("));
    EXPECT(strstr(b.out, "(would be refuted by: "));
    answer_free(&a);
    answer_free(&b);
}

// A Llama of 8 billion weights: all header, its data a hole.
static void write_large(const char *path)
{
    enum { LAYERS = 32, WIDTH = 4096, FF = 14336, KV = 1024, VOCAB = 128256 };
    static const struct {
        const char *name;
        uint64_t rows, columns;
    } layer[] = {
        {"attn_norm", 1, WIDTH}, {"attn_q", WIDTH, WIDTH},      {"attn_k", KV, WIDTH},
        {"attn_v", KV, WIDTH},   {"attn_output", WIDTH, WIDTH}, {"ffn_norm", 1, WIDTH},
        {"ffn_gate", FF, WIDTH}, {"ffn_up", FF, WIDTH},         {"ffn_down", WIDTH, FF},
    };
    gguf_maker m = gguf_make();
    AUTO_VALUE(glia_strbuf) file = {0};
    uint64_t offset = 0;
    gguf_make_string(&m, "general.architecture", "llama");
    gguf_make_u32(&m, "llama.block_count", LAYERS);
    gguf_make_u32(&m, "llama.context_length", 8192);
    gguf_make_u32(&m, "llama.embedding_length", WIDTH);
    gguf_make_u32(&m, "llama.feed_forward_length", FF);
    gguf_make_u32(&m, "llama.attention.head_count", 32);
    gguf_make_u32(&m, "llama.attention.head_count_kv", 8);
    gguf_make_u32(&m, "llama.vocab_size", VOCAB);
    gguf_make_f32(&m, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
#define LARGE_TENSOR(name, rows, columns)                                                                              \
    do {                                                                                                               \
        const uint64_t shape_[] = {(rows), (columns)};                                                                 \
        const bool vector_ = (rows) == 1;                                                                              \
        gguf_make_info(&m, (name), vector_ ? 1 : 2, vector_ ? shape_ + 1 : shape_, 0, offset);                         \
        offset += (uint64_t)(rows) * (uint64_t)(columns)*4;                                                            \
    } while (0)
    LARGE_TENSOR("token_embd.weight", VOCAB, WIDTH);
    LARGE_TENSOR("output.weight", VOCAB, WIDTH);
    LARGE_TENSOR("output_norm.weight", 1, WIDTH);
    for (int l = 0; l < LAYERS; l++)
        for (size_t i = 0; i < COUNT_OF(layer); i++) {
            char name[64];
            (void)snprintf(name, sizeof name, "blk.%d.%s.weight", l, layer[i].name);
            LARGE_TENSOR(name, layer[i].rows, layer[i].columns);
        }
    gguf_make_finish(&m, &file);
    EXPECT_OK(glia_file_write_atomic(path, glia_strbuf_span(&file)));
    EXPECT(truncate(path, (off_t)(file.size + offset)) == 0);
}

TEST(cli_mistakes, logits_do_not_replace_the_model)
{
    const char *own = in_folder("own.gguf"), *hf = in_folder("own_hf"), *shard = in_folder("own_hf/model.safetensors");
    size_t size, after;
    char *bytes = read_text(kit_model(), &size);
    EXPECT_OK(glia_file_write_atomic(own, (glia_span){(const uint8_t *)bytes, size}));
    write_hf_folder(hf);
    expect_mistake(glia("eval -m '%s' --ids 2,300 --logits '%s'", own, own), 2, "which would be lost");
    expect_mistake(glia("eval -m '%s' --ids 2,300 --logits '%s'", hf, shard), 2, "'model.safetensors' of the input");
    char *again = read_text(own, &after);
    EXPECT(after == size && !memcmp(again, bytes, size));
    glia_free(again);
    glia_free(bytes);
}

// All ones are a NaN, whatever type the last weights are of.
TEST(cli_mistakes, logits_that_are_no_numbers_have_no_likeliest)
{
    const char *nan = in_folder("nan.gguf"), *npy = in_folder("nan.npy");
    size_t size;
    char *bytes = read_text(kit_model(), &size);
    memset(bytes + size - 64, 0xff, 64);
    EXPECT_OK(glia_file_write_atomic(nan, (glia_span){(const uint8_t *)bytes, size}));
    glia_free(bytes);
    expect_mistake(glia("eval -m '%s' --ids 2,300 --dtype fp32 --logits '%s'", nan, npy), 3, "behind token 0: logit");
    EXPECT(!glia_file_exists(npy));
    expect_mistake(glia("eval -m '%s' --ids 2,300 --dtype fp32", nan), 3, "is NaN");
}

TEST(cli_mistakes, a_model_too_large_for_the_instance_is_refused_with_both_sizes_and_a_way_out)
{
    const char *path = in_folder("large.gguf");
    write_large(path);
    answer a = glia("eval --model '%s' --ids 1,2 --dtype fp32", path);
    if (!strstr(a.err, "weights of 29.92 GiB and a KV cache of 0.50 GiB in f32") ||
        !strstr(a.err, "'trn2.3xlarge' at LNC 2, which has 23.82 GiB"))
        FAIL_TEST("%s", a.err);
    expect_mistake(a, 6, "hint: pass --dtype bf16");
    expect_mistake(glia("eval --model '%s' --ids 1,2 --dtype fp32 --instance trn1.2xlarge", path), 6,
                   "hint: pass --dtype bf16");
    EXPECT(unlink(path) == 0);
}
