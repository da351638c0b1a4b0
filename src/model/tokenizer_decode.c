// SPDX-License-Identifier: Apache-2.0
// Ids to bytes, as a stream. A piece gives its text with U+2581 as a space; a byte piece its byte; a user-defined piece
// its text as it is. Bytes pass a small UTF-8 gate that lets out whole characters: it holds what may still become one
// (at most three bytes) and passes on what cannot.
#include <string.h>

#include "model/tokenizer_internal.h"

// Whether `byte` may follow the held bytes of a character [Unicode 15, table 3-7].
static bool may_follow(const uint8_t *held, uint8_t count, uint8_t byte)
{
    if (count == 1) {
        if (held[0] == 0xe0) return byte >= 0xa0 && byte <= 0xbf;
        if (held[0] == 0xed) return byte >= 0x80 && byte <= 0x9f;
        if (held[0] == 0xf0) return byte >= 0x90 && byte <= 0xbf;
        if (held[0] == 0xf4) return byte >= 0x80 && byte <= 0x8f;
    }
    return byte >= 0x80 && byte <= 0xbf;
}

static uint8_t size_by_lead(uint8_t lead)
{
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

void model_decoder_flush(model_decoder *d, glia_strbuf *out)
{
    glia_put_bytes(out, d->held, d->held_size);
    d->held_size = 0;
}

static void put_byte(model_decoder *d, uint8_t byte, glia_strbuf *out)
{
    if (d->held_size) {
        if (may_follow(d->held, d->held_size, byte)) {
            d->held[d->held_size++] = byte;
            if (d->held_size == size_by_lead(d->held[0])) model_decoder_flush(d, out);
            return;
        }
        model_decoder_flush(d, out);
    }
    if (byte >= 0xc2 && byte <= 0xf4) d->held[d->held_size++] = byte;
    else glia_put_u8(out, byte);
}

static void put_text(model_decoder *d, const char *text, uint32_t size, bool unescape, glia_strbuf *out)
{
    for (uint32_t i = 0; i < size; i++) {
        const bool space = unescape && size - i >= 3 && !memcmp(text + i, "\xe2\x96\x81", 3);
        if (space) i += 2;
        // The space that encoding put before the text is not part of it.
        if (space && !d->started && d->tokenizer->add_space_prefix) {
            d->started = true;
            continue;
        }
        d->started = true;
        put_byte(d, space ? ' ' : (uint8_t)text[i], out);
    }
}

model_decoder model_decoder_of(const model_tokenizer *t)
{
    return (model_decoder){ .tokenizer = t };
}

glia_status model_decoder_push(model_decoder *d, int32_t id, glia_strbuf *out)
{
    const model_tokenizer *t = d->tokenizer;
    ENSURE(id >= 0 && (uint32_t)id < t->count, INVALID, "token id %d is outside the vocabulary of %u", id, t->count);
    const piece *p = &t->pieces[id];
    switch ((piece_type)p->type) {
    case PIECE_NORMAL:
    case PIECE_UNUSED: put_text(d, p->text, p->size, true, out); break;
    case PIECE_USER_DEFINED: put_text(d, p->text, p->size, false, out); break;
    case PIECE_BYTE: put_text(d, (const char *)&p->byte, 1, false, out); break;
    case PIECE_CONTROL:
    case PIECE_UNKNOWN:
        if (d->show_control) put_text(d, p->text, p->size, false, out);
        break;
    }
    return GLIA_OK;
}

glia_status model_tokenizer_decode(const model_tokenizer *t, const int32_t *ids, size_t count, glia_strbuf *out)
{
    model_decoder d = model_decoder_of(t);
    for (size_t i = 0; i < count; i++) TRY(model_decoder_push(&d, ids[i], out));
    model_decoder_flush(&d, out);
    return GLIA_OK;
}
