// SPDX-License-Identifier: Apache-2.0
// The names of cache entries. The one file of this layer that reaches libcrypto.
#include "compile/cache.h"

#include <openssl/evp.h>

static void hex_of(EVP_MD_CTX *ctx, char out[COMPILE_KEY_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    BUG_ON(EVP_DigestFinal_ex(ctx, digest, &size) != 1 || size != 32);
    static const char digits[] = "0123456789abcdef";
    for (unsigned int k = 0; k < size; k++) {
        out[2 * k] = digits[digest[k] >> 4];
        out[2 * k + 1] = digits[digest[k] & 15];
    }
    out[64] = 0;
}

static EVP_MD_CTX *begin(void)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    BUG_ON(!ctx || EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) != 1);
    return ctx;
}

static void add(EVP_MD_CTX *ctx, const void *bytes, size_t size)
{
    BUG_ON(EVP_DigestUpdate(ctx, bytes, size) != 1);
}

void compile_sha256(glia_span bytes, char out[COMPILE_KEY_BYTES])
{
    EVP_MD_CTX *ctx = begin();
    if (bytes.size) add(ctx, bytes.data, bytes.size);
    hex_of(ctx, out);
    EVP_MD_CTX_free(ctx);
}

// Places are in the NEFF and in errors: the same graph read from another file, or from other lines, is another entry.
static void put_places(const ir_module *m, glia_strbuf *out)
{
    glia_putf(out, "\nsource %s\n", m->source ? m->source : "");
    for (uint32_t c = 0; c < m->computations.count; c++)
        for (uint32_t k = 0; k < m->computations.items[c]->insts.count; k++) {
            const ir_loc *at = &m->computations.items[c]->insts.items[k]->loc;
            glia_putf(out, "%s:%d:%d\n", at->file == m->source ? "" : at->file, at->line, at->column);
        }
}

void compile_key(const ir_module *m, const compile_options *o, char out[COMPILE_KEY_BYTES])
{
    glia_strbuf text = { 0 };
    glia_putf(&text, "glia %s %s\n", GLIA_VERSION, compile_fingerprint);
    compile_flags(o, &text);
    glia_put(&text, "\n");
    // The chip's numbers decide schedules: an overlay is another target.
    for (size_t k = 0; k < hw_chip_field_count(); k++) {
        const hw_fact *f = hw_chip_fact(o->chip, hw_chip_field_at(k));
        glia_put_bytes(&text, &f->value, sizeof f->value);
    }
    ir_print(&text, m);
    put_places(m, &text);
    compile_sha256(glia_strbuf_span(&text), out);
    glia_strbuf_fini(&text);
}
