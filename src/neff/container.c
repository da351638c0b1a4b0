// SPDX-License-Identifier: Apache-2.0
// NEFF's public outline: a header of 1,024 bytes, then a tar archive [runtime:neff.header]. All numbers little-endian.
//
//   offset size  meaning
//   0      u64   packager version, 2
//   8      u64   header size, 1024
//   16     u64   data size: bytes after the header
//   24     u64   NEFF version, major: 2
//   32     u64   NEFF version, minor: 0
//   40     128   build version, text: "glia 0.1.0"
//   168    u32   cores
//   172    32    SHA-256 of the data
//   204    16    uuid: the first 16 bytes of that
//   220    256   name, text
//   476    u32   cores requested
//   480    64    cores of each node
//   544    u64   incompatible feature bits: bit 63, which no vendor's runtime knows, so that none runs this
//   552    u32   logical core size
//   556    8     "GLIANEFF": glia's own from here on
//   564    u32   glia format, NEFF_FORMAT
//   568    u64   offset of the index in the file
//   576    u64   size of the index
//   584    u64   XXH3 of the index
//   592    u64   XXH3 of this header with this field zero
//   600    424   zero
//
// The index is the archive's last file, glia/index.bin:
//
//   0      u32   sections
//   4      u32   zero
//   8      u64   XXH3 of all data that is in no section and not in the index, chained: each stretch seeds the next
//   16     40n   sections, by rising offset: u32 kind, u32 number, u64 offset, u64 size, u64 raw size, u64 XXH3
//
// Readers go by the index; the archive is for people and their tools. A stretch of zeros before a constant, in a file
// glia/pad, aligns it to 4,096 so that it can be mapped.
#include "neff/container.h"
#include "neff/codec.h"

#include <stdio.h>
#include <string.h>

// clang-format off
enum {
    AT_PACKAGER = 0, AT_HEADER_SIZE = 8, AT_DATA_SIZE = 16, AT_MAJOR = 24, AT_BUILD = 40, AT_CORES = 168, AT_HASH = 172,
    AT_UUID = 204, AT_NAME = 220, AT_REQUESTED = 476, AT_NODES = 480, AT_FEATURES = 544, AT_LNC = 552, AT_MAGIC = 556,
    AT_FORMAT = 564, AT_INDEX = 568, AT_INDEX_SIZE = 576, AT_INDEX_SUM = 584, AT_HEADER_SUM = 592, AT_ZERO = 600,
    TAR_BLOCK = 512, INDEX_HEAD = 16, INDEX_ENTRY = 40,
};
// clang-format on
static const char magic[8] = {'G', 'L', 'I', 'A', 'N', 'E', 'F', 'F'};

static void set_u32(uint8_t *at, uint32_t v)
{
    for (int k = 0; k < 4; k++)
        at[k] = (uint8_t)(v >> 8 * k);
}

static void set_u64(uint8_t *at, uint64_t v)
{
    for (int k = 0; k < 8; k++)
        at[k] = (uint8_t)(v >> 8 * k);
}

static uint32_t get_u32(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t get_u64(const uint8_t *at)
{
    return get_u32(at) | (uint64_t)get_u32(at + 4) << 32;
}

static void put_zeros(glia_strbuf *out, uint64_t n)
{
    static const uint8_t zeros[NEFF_ALIGN];
    for (; n > sizeof zeros; n -= sizeof zeros)
        glia_put_bytes(out, zeros, sizeof zeros);
    glia_put_bytes(out, zeros, (size_t)n);
}

// ---- archive ----

static void put_tar_number(char *field, int digits, uint64_t v)
{
    if (v >> (3 * digits)) { // GNU's form for what octal digits cannot hold: big-endian, first bit set
        for (int k = digits; k >= 0; k--, v >>= 8)
            field[k] = (char)(v & 0xff);
        field[0] |= (char)0x80;
        return;
    }
    snprintf(field, (size_t)digits + 1, "%0*llo", digits, (unsigned long long)v);
}

// A ustar header: owner 0, time 0, mode 0644, so that equal programs give equal bytes.
static void put_tar_header(glia_strbuf *out, const char *path, uint64_t size)
{
    char h[TAR_BLOCK] = {0};
    memcpy(h, path, strnlen(path, NEFF_PATH - 1));
    put_tar_number(h + 100, 7, 0644);
    put_tar_number(h + 108, 7, 0);
    put_tar_number(h + 116, 7, 0);
    put_tar_number(h + 124, 11, size);
    put_tar_number(h + 136, 11, 0);
    memset(h + 148, ' ', 8);
    h[156] = '0';
    memcpy(h + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int k = 0; k < TAR_BLOCK; k++)
        sum += (unsigned char)h[k];
    snprintf(h + 148, 8, "%06o", sum);
    h[155] = ' ';
    glia_put_bytes(out, h, sizeof h);
}

static void put_tar_file(glia_strbuf *out, const char *path, glia_span bytes)
{
    put_tar_header(out, path, bytes.size);
    glia_put_bytes(out, bytes.data, bytes.size);
    put_zeros(out, (TAR_BLOCK - bytes.size % TAR_BLOCK) % TAR_BLOCK);
}

void neff_writer_init(neff_writer *w, glia_strbuf *out)
{
    *w = (neff_writer){.out = out};
    put_zeros(out, NEFF_HEADER_BYTES);
}

void neff_writer_fini(neff_writer *w)
{
    VEC_FREE(&w->sections);
}

void neff_writer_add(neff_writer *w, const char *path, neff_section_kind kind, uint32_t number, glia_span bytes,
                     uint64_t raw_size, uint64_t align)
{
    const uint64_t begins = w->out->size + TAR_BLOCK;
    if (begins % align) { // a pad file: its own header, then zeros up to the header of what follows
        const uint64_t pad = (align - (begins + TAR_BLOCK) % align) % align;
        put_tar_header(w->out, "glia/pad", pad);
        put_zeros(w->out, pad);
    }
    VEC_PUSH(&w->sections) = (neff_section){.kind = kind,
                                            .number = number,
                                            .offset = w->out->size + TAR_BLOCK,
                                            .size = bytes.size,
                                            .raw_size = raw_size,
                                            .checksum = neff_checksum(bytes, 0)};
    put_tar_file(w->out, path, bytes);
}

// ---- index ----

static uint64_t chain(glia_span bytes, uint64_t from, uint64_t to, uint64_t seed)
{
    return from < to ? neff_checksum((glia_span){bytes.data + from, (size_t)(to - from)}, seed) : seed;
}

// Of what lies outside of the sections (rising, apart) and of [index, index + index_size), which follows them.
static uint64_t outline_checksum(glia_span bytes, const neff_section *s, uint32_t count, uint64_t index,
                                 uint64_t index_size)
{
    uint64_t sum = 0, at = NEFF_HEADER_BYTES;
    for (uint32_t k = 0; k < count; k++) {
        sum = chain(bytes, at, s[k].offset, sum);
        at = s[k].offset + s[k].size;
    }
    sum = chain(bytes, at, index, sum);
    return chain(bytes, index + index_size, bytes.size, sum);
}

static void put_index(glia_strbuf *out, const neff_section *s, uint32_t count, uint64_t outline)
{
    glia_put_u32(out, count);
    glia_put_u32(out, 0);
    glia_put_u64(out, outline);
    for (uint32_t k = 0; k < count; k++) {
        glia_put_u32(out, s[k].kind);
        glia_put_u32(out, s[k].number);
        glia_put_u64(out, s[k].offset);
        glia_put_u64(out, s[k].size);
        glia_put_u64(out, s[k].raw_size);
        glia_put_u64(out, s[k].checksum);
    }
}

static void copy_text(uint8_t *at, size_t size, const char *s)
{
    memcpy(at, s, strnlen(s, size - 1));
}

glia_status neff_writer_close(neff_writer *w, const neff_head *head)
{
    const uint64_t size = INDEX_HEAD + (uint64_t)INDEX_ENTRY * w->sections.count;
    const uint64_t at = w->out->size + TAR_BLOCK;
    put_tar_header(w->out, "glia/index.bin", size);
    put_zeros(w->out, size); // filled in below: the outline's checksum covers what follows it
    put_zeros(w->out, (TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
    put_zeros(w->out, 2 * TAR_BLOCK);

    glia_strbuf index = {0};
    put_index(&index, w->sections.items, w->sections.count,
              outline_checksum(glia_strbuf_span(w->out), w->sections.items, w->sections.count, at, size));
    uint8_t *file = (uint8_t *)w->out->data;
    memcpy(file + at, index.data, size);
    const uint64_t index_sum = neff_checksum(glia_strbuf_span(&index), 0);
    glia_strbuf_fini(&index);

    const glia_span data = {file + NEFF_HEADER_BYTES, w->out->size - NEFF_HEADER_BYTES};
    uint8_t hash[32];
    TRY(neff_sha256(data, hash));
    set_u64(file + AT_PACKAGER, 2);
    set_u64(file + AT_HEADER_SIZE, NEFF_HEADER_BYTES);
    set_u64(file + AT_DATA_SIZE, data.size);
    set_u64(file + AT_MAJOR, 2);
    copy_text(file + AT_BUILD, 128, head->build);
    set_u32(file + AT_CORES, head->cores);
    memcpy(file + AT_HASH, hash, 32);
    memcpy(file + AT_UUID, hash, 16);
    copy_text(file + AT_NAME, 256, head->name);
    set_u32(file + AT_REQUESTED, head->cores);
    file[AT_NODES] = (uint8_t)head->cores;
    set_u64(file + AT_FEATURES, 1ull << 63);
    set_u32(file + AT_LNC, head->cores);
    memcpy(file + AT_MAGIC, magic, sizeof magic);
    set_u32(file + AT_FORMAT, NEFF_FORMAT);
    set_u64(file + AT_INDEX, at);
    set_u64(file + AT_INDEX_SIZE, size);
    set_u64(file + AT_INDEX_SUM, index_sum);
    set_u64(file + AT_HEADER_SUM, neff_checksum((glia_span){file, NEFF_HEADER_BYTES}, 0));
    return GLIA_OK;
}

// ---- reading ----

// What the file is, if it is not ours: said politely, before anything else is judged.
static glia_status refuse_foreign(const neff_reader *r)
{
    const uint8_t *h = r->bytes.data;
    ENSURE(get_u64(h + AT_HEADER_SIZE) == NEFF_HEADER_BYTES, INVALID,
           "'%s' is no NEFF: its header states a size of %llu, a NEFF's %d", r->what,
           (unsigned long long)get_u64(h + AT_HEADER_SIZE), NEFF_HEADER_BYTES);
    char build[128];
    for (int k = 0; k < 127; k++) {
        const uint8_t c = h[AT_BUILD + k];
        build[k] = (char)(c == 0 || (c >= 0x20 && c < 0x7f) ? c : '?');
    }
    build[127] = 0;
    return GLIA_FAIL(
        UNSUPPORTED,
        "'%s' is a NEFF for a real NeuronCore (build '%s', NEFF version %llu.%llu); its engine code "
        "is the vendor's own, glia executes what glia compiled\nhint: compile the HLO that it came from with "
        "'glia compile'",
        r->what, build, (unsigned long long)get_u64(h + AT_MAJOR), (unsigned long long)get_u64(h + AT_MAJOR + 8));
}

static glia_status check_header(neff_reader *r)
{
    ENSURE(r->bytes.size >= NEFF_HEADER_BYTES, INVALID, "'%s' is no NEFF: it has %zu bytes, the header alone %d",
           r->what, r->bytes.size, NEFF_HEADER_BYTES);
    uint8_t h[NEFF_HEADER_BYTES];
    memcpy(h, r->bytes.data, sizeof h);
    if (memcmp(h + AT_MAGIC, magic, sizeof magic) != 0) return refuse_foreign(r);
    ENSURE(get_u32(h + AT_FORMAT) == NEFF_FORMAT, UNSUPPORTED,
           "'%s' has glia's NEFF format %u, this build reads %d\nhint: recompile it with 'glia compile'", r->what,
           get_u32(h + AT_FORMAT), NEFF_FORMAT);
    const uint64_t stated = get_u64(h + AT_HEADER_SUM);
    set_u64(h + AT_HEADER_SUM, 0);
    const uint64_t sum = neff_checksum((glia_span){h, sizeof h}, 0);
    ENSURE(sum == stated, CORRUPT, "'%s': the header's checksum is %016llx, it states %016llx", r->what,
           (unsigned long long)sum, (unsigned long long)stated);
    const uint64_t data = r->bytes.size - NEFF_HEADER_BYTES;
    ENSURE(get_u64(h + AT_DATA_SIZE) == data, CORRUPT, "'%s' is %s: its header states %llu bytes of data, it has %llu",
           r->what, get_u64(h + AT_DATA_SIZE) > data ? "truncated" : "too long",
           (unsigned long long)get_u64(h + AT_DATA_SIZE), (unsigned long long)data);
    r->cores = get_u32(h + AT_CORES);
    return GLIA_OK;
}

static bool inside(uint64_t at, uint64_t size, uint64_t from, uint64_t to)
{
    return at >= from && at <= to && size <= to - at;
}

static glia_status read_section(neff_reader *r, const uint8_t *e, uint64_t from, uint64_t to)
{
    const neff_section s = {.kind = get_u32(e),
                            .number = get_u32(e + 4),
                            .offset = get_u64(e + 8),
                            .size = get_u64(e + 16),
                            .raw_size = get_u64(e + 24),
                            .checksum = get_u64(e + 32)};
    const uint32_t k = r->sections.count;
    ENSURE(inside(s.offset, s.size, from, to), CORRUPT,
           "'%s': section %u is at %llu with %llu bytes, between %llu and %llu is room", r->what, k,
           (unsigned long long)s.offset, (unsigned long long)s.size, (unsigned long long)from, (unsigned long long)to);
    ENSURE(s.kind != NEFF_SECTION_CONST || s.offset % NEFF_ALIGN == 0, CORRUPT,
           "'%s': constant %u is at %llu, no multiple of %d", r->what, s.number, (unsigned long long)s.offset,
           NEFF_ALIGN);
    const uint64_t sum = neff_checksum(neff_section_bytes(r, &s), 0);
    ENSURE(sum == s.checksum, CORRUPT, "'%s': section %u at %llu has checksum %016llx, the index states %016llx",
           r->what, k, (unsigned long long)s.offset, (unsigned long long)sum, (unsigned long long)s.checksum);
    VEC_PUSH(&r->sections) = s;
    return GLIA_OK;
}

static glia_status read_index(neff_reader *r)
{
    const uint8_t *h = r->bytes.data;
    const uint64_t at = get_u64(h + AT_INDEX), size = get_u64(h + AT_INDEX_SIZE);
    ENSURE(inside(at, size, NEFF_HEADER_BYTES, r->bytes.size) && size >= INDEX_HEAD, CORRUPT,
           "'%s': the index is at %llu with %llu bytes, the file has %zu", r->what, (unsigned long long)at,
           (unsigned long long)size, r->bytes.size);
    const uint8_t *index = h + at;
    const uint64_t sum = neff_checksum((glia_span){index, (size_t)size}, 0);
    ENSURE(sum == get_u64(h + AT_INDEX_SUM), CORRUPT,
           "'%s': the index at %llu has checksum %016llx, the header states %016llx", r->what, (unsigned long long)at,
           (unsigned long long)sum, (unsigned long long)get_u64(h + AT_INDEX_SUM));
    const uint64_t count = get_u32(index);
    ENSURE(size == INDEX_HEAD + count * INDEX_ENTRY, CORRUPT, "'%s': the index has %llu bytes, %llu sections need %llu",
           r->what, (unsigned long long)size, (unsigned long long)count,
           (unsigned long long)(INDEX_HEAD + count * INDEX_ENTRY));
    uint64_t from = NEFF_HEADER_BYTES;
    for (uint64_t k = 0; k < count; k++) {
        TRY(read_section(r, index + INDEX_HEAD + k * INDEX_ENTRY, from, at));
        from = r->sections.items[k].offset + r->sections.items[k].size;
    }
    const uint64_t outline = outline_checksum(r->bytes, r->sections.items, r->sections.count, at, size);
    ENSURE(outline == get_u64(index + 8), CORRUPT,
           "'%s': what lies between the sections has checksum %016llx, the index states %016llx", r->what,
           (unsigned long long)outline, (unsigned long long)get_u64(index + 8));
    return GLIA_OK;
}

glia_status neff_reader_init(neff_reader *r, glia_span bytes, const char *what)
{
    *r = (neff_reader){.bytes = bytes, .what = what};
    TRY(check_header(r));
    return read_index(r);
}

void neff_reader_fini(neff_reader *r)
{
    VEC_FREE(&r->sections);
}

const neff_section *neff_reader_find(const neff_reader *r, neff_section_kind kind, uint32_t number)
{
    for (uint32_t k = 0; k < r->sections.count; k++)
        if (r->sections.items[k].kind == (uint32_t)kind && r->sections.items[k].number == number)
            return &r->sections.items[k];
    return NULL;
}
