// SPDX-License-Identifier: Apache-2.0
// A machine: the memories of one logical core. SBUF and PSUM are byte images, one row per partition, a cache line apart
// from a power of two. They keep their bytes from one execution to the next, as the chip does; registers do not.
#include "dev/machine.h"

#include <string.h>
#include <sys/mman.h>

// Zeroed pages, huge ones where the host has them. NULL when the host is out of memory.
static uint8_t *image_create(size_t pitch)
{
    void *image = mmap(NULL, pitch * ISA_PARTITIONS, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image == MAP_FAILED) return NULL;
    (void)madvise(image, pitch * ISA_PARTITIONS, MADV_HUGEPAGE);
    return image;
}

static void image_destroy(uint8_t *image, size_t pitch)
{
    if (image) (void)munmap(image, pitch * ISA_PARTITIONS);
}

void dev_position_fini(dev_position *at)
{
    VEC_FREE(&at->frames);
    VEC_FREE(&at->loops);
    VEC_FREE(&at->slots);
    VEC_FREE(&at->trips);
}

void dev_machine_destroy(dev_machine *m)
{
    if (!m) return;
    for (int c = 0; c < m->core_count; c++) {
        dev_core *core = &m->cores[c];
        image_destroy(core->sbuf, m->sbuf_pitch);
        image_destroy(core->psum, m->psum_pitch);
        image_destroy(core->sbuf_shadow, m->sbuf_pitch);
        image_destroy(core->psum_shadow, m->psum_pitch);
        glia_free(core->rows);
        dev_position_fini(&core->at);
    }
    glia_free(m);
}

glia_status dev_machine_create(const hw_chip *chip, int core_count, glia_pool *pool, dev_machine **out)
{
    *out = NULL;
    ENSURE(hw_lnc_is_legal(chip, core_count), INVALID, "'%s' has no logical core of %d physical cores", chip->target,
           core_count);
    AUTO(dev_machine) m = glia_alloc(sizeof *m);
    m->chip = chip;
    m->pool = pool;
    m->core_count = core_count;
    m->generation = (int)hw_int(chip->generation);
    m->sbuf_bytes = (size_t)hw_int(chip->sbuf_partition_bytes);
    m->psum_bytes = (size_t)hw_int(chip->psum_partition_bytes);
    m->sbuf_pitch = m->sbuf_bytes + DEV_PITCH_PAD;
    m->psum_pitch = m->psum_bytes + DEV_PITCH_PAD;
    for (int c = 0; c < core_count; c++) {
        m->cores[c].sbuf = image_create(m->sbuf_pitch);
        m->cores[c].psum = image_create(m->psum_pitch);
        ENSURE(m->cores[c].sbuf && m->cores[c].psum, EXHAUSTED, "the host has no memory for SBUF and PSUM of core %d",
               c);
    }
    *out = TAKE(m);
    return GLIA_OK;
}
