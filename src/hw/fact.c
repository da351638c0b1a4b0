// SPDX-License-Identifier: Apache-2.0
// Units, provenances, and a fact as people write it: binary prefixes for bytes, decimal ones for rates.
#include "hw/hw.h"

#include <math.h>

const char *hw_unit_text(hw_unit unit)
{
    static const char *const texts[] = {
#define HW_UNIT(symbol, text, kind) text,
#include "hw/units.def"
    };
    BUG_ON((size_t)unit >= COUNT_OF(texts));
    return texts[unit];
}

const char *hw_provenance_name(hw_provenance provenance)
{
    static const char *const names[HW_PROVENANCE_COUNT] = {
        [HW_DOC] = "doc",         [HW_SRC] = "src",         [HW_MEAS] = "meas",
        [HW_DERIVED] = "derived", [HW_ASSUMED] = "assumed", [HW_SET] = "set",
    };
    BUG_ON((size_t)provenance >= COUNT_OF(names));
    return names[provenance];
}

// "2.4 G", up to four significant digits, so that 212,984 bytes are not rounded to 208 KiB: exact or plain.
static void put_scaled(glia_strbuf *out, double value, double base, const char *const *prefixes, size_t prefix_count,
                       const char *unit)
{
    size_t i = 0;
    double scaled = value;

    while (i + 1 < prefix_count && fabs(scaled) >= base) {
        scaled /= base;
        i++;
    }
    const double tenths = scaled * 1000;
    if (tenths != floor(tenths) && base == 1024) {
        glia_putf(out, "%.0f %s", value, unit);
        return;
    }
    glia_putf(out, "%.6g %s%s", scaled, prefixes[i], unit);
}

void hw_fact_print(hw_fact fact, glia_strbuf *out)
{
    static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    static const char *const decimal[] = {"", "k", "M", "G", "T", "P", "E"};
    const char *unit = hw_unit_text(fact.unit);

    switch (fact.unit) {
    case HW_UNIT_BYTES:
        put_scaled(out, fact.value, 1024, binary, COUNT_OF(binary), unit);
        return;
    case HW_UNIT_HZ:
    case HW_UNIT_BYTES_PER_S:
    case HW_UNIT_FLOPS:
        put_scaled(out, fact.value, 1000, decimal, COUNT_OF(decimal), unit);
        return;
    case HW_UNIT_FLAG:
        glia_put(out, fact.value != 0 ? "yes" : "no");
        return;
    case HW_UNIT_COUNT:
    case HW_UNIT_RATIO:
        glia_putf(out, "%.10g", fact.value);
        return;
    case HW_UNIT_BITS:
    case HW_UNIT_ELEMENTS:
    case HW_UNIT_CYCLES:
    case HW_UNIT_NS:
    case HW_UNIT_WATTS:
    case HW_UNIT_USD_PER_HOUR:
        glia_putf(out, "%.10g %s", fact.value, unit);
        return;
    case HW_UNIT_COUNT_OF:
        break;
    }
    BUG_ON(fact.unit >= HW_UNIT_COUNT_OF);
}
