// SPDX-License-Identifier: Apache-2.0
// Device layouts against the definition, element by element, and the ones that must be refused.
#include "harness/harness.h"
#include "isa/isa.h"

// The definition: the logical index of a device position, or false for padding.
static bool logical_of(const isa_layout *l, int rank, const int64_t *dims, uint64_t at, int64_t *index)
{
    for (int d = 0; d < rank; d++)
        index[d] = 0;
    for (int k = l->axis_count - 1; k >= 0; k--) {
        index[l->axes[k].dim] += (int64_t)(at % l->axes[k].count) * l->axes[k].step;
        at /= l->axes[k].count;
    }
    for (int d = 0; d < rank; d++)
        if (index[d] >= dims[d]) return false;
    return true;
}

static void check(const isa_layout *l, int rank, const int64_t *dims, int size)
{
    EXPECT(isa_layout_valid(l, rank, dims));
    uint64_t n = 1, elements = isa_layout_elements(l, rank, dims);
    for (int d = 0; d < rank; d++)
        n *= (uint64_t)dims[d];
    uint8_t *plain = calloc(n + 1, (size_t)size), *again = calloc(n + 1, (size_t)size),
            *device = malloc(elements * (size_t)size);
    for (uint64_t k = 0; k < n * (uint64_t)size; k++)
        plain[k] = (uint8_t)(k * 7 + k / 251 + 1);
    memset(device, 0xee, elements * (size_t)size);
    isa_layout_pack(l, rank, dims, size, device, plain);
    for (uint64_t at = 0; at < elements; at++) {
        int64_t index[ISA_RANK] = {0};
        uint8_t want[16] = {0};
        if (logical_of(l, rank, dims, at, index)) {
            uint64_t flat = 0;
            for (int d = 0; d < rank; d++)
                flat = flat * (uint64_t)dims[d] + (uint64_t)index[d];
            memcpy(want, plain + flat * (uint64_t)size, (size_t)size);
        }
        if (memcmp(device + at * (uint64_t)size, want, (size_t)size) != 0)
            FAIL_TEST("device element %" PRIu64 " of size %d is wrong", at, size);
    }
    isa_layout_unpack(l, rank, dims, size, again, device);
    EXPECT(memcmp(plain, again, n * (size_t)size) == 0);
    free(plain);
    free(again);
    free(device);
}

TEST(layout, tiles_transposes_and_padding_follow_the_definition)
{
    static const int sizes[] = {1, 2, 4, 8, 16};
    const isa_layout tiles = {4, {{128, 3, 0}, {64, 2, 1}, {1, 128, 0}, {1, 64, 1}}};
    const isa_layout transposed = {3, {{64, 2, 1}, {1, 64, 1}, {1, 300, 0}}};
    const isa_layout swapped = {3, {{1, 5, 2}, {1, 4, 0}, {1, 3, 1}}};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        check(&tiles, 2, (const int64_t[]){300, 100}, sizes[k]);
        check(&transposed, 2, (const int64_t[]){300, 100}, sizes[k]);
        check(&swapped, 3, (const int64_t[]){4, 3, 5}, sizes[k]);
    }
    EXPECT_EQ_INT(isa_layout_elements(&tiles, 2, (const int64_t[]){300, 100}), 384 * 128);
}

TEST(layout, none_is_row_major)
{
    const isa_layout none = {0};
    const int64_t dims[] = {3, 5};
    const uint16_t plain[15] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint16_t device[15] = {0};
    EXPECT_EQ_INT(isa_layout_elements(&none, 2, dims), 15);
    isa_layout_pack(&none, 2, dims, 2, device, plain);
    EXPECT(memcmp(device, plain, sizeof plain) == 0);
}

TEST(layout, what_loses_or_doubles_an_element_is_refused)
{
    static const struct {
        isa_layout l;
        const char *why;
    } bad[] = {
        {{2, {{1, 4, 0}, {1, 5, 0}}}, "both axes step by one"},
        {{2, {{1, 4, 0}, {2, 5, 1}}}, "nothing steps by one in dim 1"},
        {{2, {{1, 3, 0}, {1, 5, 1}}}, "dim 0 ends before 4"},
        {{1, {{1, 4, 0}}}, "dim 1 is missing"},
        {{2, {{1, 4, 0}, {1, 5, 2}}}, "there is no dim 2"},
        {{3, {{3, 2, 0}, {1, 2, 0}, {1, 5, 1}}}, "a step leaves a gap"},
        {{2, {{1, 0, 0}, {1, 5, 1}}}, "an axis is empty"},
    };
    const int64_t dims[] = {4, 5};
    for (size_t k = 0; k < COUNT_OF(bad); k++)
        if (isa_layout_valid(&bad[k].l, 2, dims)) FAIL_TEST("passes, but %s", bad[k].why);
    const isa_layout huge = {3, {{1, UINT32_MAX, 0}, {UINT32_MAX, UINT32_MAX, 0}, {1, UINT32_MAX, 1}}};
    EXPECT_EQ_HEX(isa_layout_elements(&huge, 2, dims), UINT64_MAX); // saturates
}
