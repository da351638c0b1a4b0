// SPDX-License-Identifier: Apache-2.0
// See file_kind.h. The first row that fits is it; what a text is can only be said after all that begin in their own way.
#include "file_kind.h"

#include <string.h>

#include "programs.h"

static bool begins(glia_span b, const char *with)
{
    return b.size >= strlen(with) && !memcmp(b.data, with, strlen(with));
}

static bool is_gguf(glia_span b) { return begins(b, "GGUF"); }
static bool is_npy(glia_span b) { return begins(b, "\x93NUMPY"); }
static bool is_elf(glia_span b) { return begins(b, "\x7f" "ELF"); }
static bool is_archive(glia_span b) { return begins(b, "PK\x03\x04") || begins(b, "\x1f\x8b"); }
static bool is_bytecode(glia_span b) { return begins(b, "ML\xefR"); }
static bool is_mlir(glia_span b) { return begins(b, "module ") || begins(b, "module{") || begins(b, "#loc"); }
static bool is_hlo(glia_span b) { return begins(b, "HloModule"); }
static bool is_json(glia_span b) { return begins(b, "{"); }
static bool is_empty(glia_span b) { return b.size == 0; }

// The length of a JSON header, then the header.
static bool is_safetensors(glia_span b)
{
    if (b.size < 9 || b.data[8] != '{') return false;
    uint64_t length = 0;
    for (int k = 7; k >= 0; k--) length = length << 8 | b.data[k];
    return length <= b.size - 8;
}

static bool is_text(glia_span b)
{
    for (size_t i = 0; i < b.size && i < 512; i++)
        if (b.data[i] < 0x20 && !memchr("\t\n\r\f", b.data[i], 4)) return false;
    return true;
}

static const char model_hint[] = "'glia time' and 'glia generate --model' take it";
static const char dump_hint[] = "XLA_FLAGS=--xla_dump_to=DIR --xla_dump_hlo_as_text writes HLO text";
static const struct {
    bool (*is)(glia_span bytes);
    unsigned wanted;        // of tool_wanted; 0: no verb takes it
    const char *what, *hint;
} kinds[] = {
    { is_empty, 0, "an empty file", NULL },
    { tool_is_program, TOOL_WANT_PROGRAM, "a program: a NEFF or its assembly text", "'glia run', 'glia time' and 'glia neff' take it" },
    { is_gguf, TOOL_WANT_MODEL, "a GGUF model", model_hint },
    { is_npy, 0, "an .npy array", "'glia run --input' takes it" },
    { is_elf, 0, "an ELF file", NULL },
    { is_archive, 0, "a compressed archive", NULL },
    { is_bytecode, 0, "MLIR bytecode", dump_hint },
    { is_mlir, 0, "MLIR text", dump_hint },
    { is_safetensors, 0, "safetensors weights", "'glia generate --model' takes the folder, with its config.json" },
    { is_json, TOOL_WANT_MODEL, "JSON", "'glia time' takes a model's config.json" },
    { is_hlo, TOOL_WANT_HLO, "HLO text", "'glia compile' makes a NEFF of it" },
    { is_text, TOOL_WANT_HLO, "text, but no program's", NULL },        // comments may stand before HloModule
};

static const char *wanted_name(unsigned wanted)
{
    if (wanted == TOOL_WANT_PROGRAM) return "a NEFF or its assembly text";
    if (wanted == TOOL_WANT_HLO) return "HLO text, as XLA dumps it";
    if (wanted == (TOOL_WANT_PROGRAM | TOOL_WANT_HLO)) return "a NEFF, its assembly text, or HLO text";
    return "a NEFF, its assembly text, HLO text, or a model";
}

glia_status tool_check_kind(glia_span bytes, const char *path, unsigned wanted, const char *taker)
{
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        if (!kinds[k].is(bytes)) continue;
        ENSURE(kinds[k].wanted & wanted, UNSUPPORTED, "'%s' is %s; %s takes %s%s%s", path, kinds[k].what, taker, wanted_name(wanted),
               kinds[k].hint ? "\nhint: " : "", kinds[k].hint ? kinds[k].hint : "");
        return GLIA_OK;
    }
    return GLIA_OK;
}
