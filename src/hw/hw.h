// SPDX-License-Identifier: Apache-2.0
// Chips and instances as data: every number with a unit, a provenance and a key in docs/facts.
//
// A chip is a constant table (chips/*.c) whose members are the rows of chip_fields.def; an instance (instances/*.c)
// is a number of chips with a host, links and prices. Nothing here computes time or moves data. The tables never
// change: an experiment or a calibration takes a copy (hw_chip_copy) and replaces numbers in it (hw_chip_set), which
// marks them SET, so that a result can always list what it rests on.
#ifndef GLIA_HW_HW_H
#define GLIA_HW_HW_H

#include "base/json.h"
#include "base/status.h"
#include "base/strbuf.h"

#define KIB 1024.0
#define MIB (1024.0 * 1024.0)
#define GIB (1024.0 * 1024.0 * 1024.0)

// ---- facts ---------------------------------------------------------------------------------------------------------

typedef enum hw_unit {
#define HW_UNIT(symbol, text, kind) HW_UNIT_##symbol,
#include "hw/units.def"
    HW_UNIT_COUNT_OF
} hw_unit;

// Where a number comes from, the surest first.
typedef enum hw_provenance {
    HW_DOC,         // vendor text
    HW_SRC,         // public header or source
    HW_MEAS,        // published measurement
    HW_DERIVED,     // arithmetic on the above; the formula is beside it
    HW_ASSUMED,     // nobody publishes it; `note` says what would refute it
    HW_SET,         // replaced by a calibration or an experiment
    HW_PROVENANCE_COUNT
} hw_provenance;

typedef struct hw_fact {
    double value;
    hw_unit unit;
    hw_provenance provenance;
    const char *key;        // "sheet:row" in docs/facts/<sheet>.md
    const char *note;       // ASSUMED: what would refute it; SET: who set it; else NULL
} hw_fact;

#define FACT(value_, unit_, provenance_, key_) { (value_), HW_UNIT_##unit_, HW_##provenance_, key_, NULL }
#define ASSUME(value_, unit_, key_, refuted_by_) { (value_), HW_UNIT_##unit_, HW_ASSUMED, key_, refuted_by_ }

static inline double hw_value(hw_fact fact) { return fact.value; }
static inline int64_t hw_int(hw_fact fact) { return (int64_t)fact.value; }     // whole-number units: exact
static inline bool hw_flag(hw_fact fact) { return fact.value != 0; }

const char *hw_unit_text(hw_unit unit);                     // "B/s"
const char *hw_provenance_name(hw_provenance provenance);   // "doc", "src", "meas", "derived", "assumed", "set"

// ---- chips ---------------------------------------------------------------------------------------------------------

typedef struct hw_chip {
    const char *name;       // "Trainium2"
    const char *target;     // "trn2", as compilers and instance families call it
#define CHIP_FIELD(group, member, unit, low, high, overlay, text) hw_fact member;
#include "hw/chip_fields.def"
} hw_chip;

#define CHIP(symbol) extern const hw_chip hw_##symbol;
#include "hw/chips.def"

size_t hw_chip_count(void);
const hw_chip *hw_chip_at(size_t index);                    // in order of generation
// By name or target, letter case ignored. NOT_FOUND names what exists and the nearest.
GLIA_MUST_USE glia_status hw_chip_find(const char *name, const hw_chip **out);

// One row of chip_fields.def, for whoever walks over all of a chip's numbers.
typedef struct hw_field {
    const char *group, *name, *text;
    hw_unit unit;
    double low, high;
    bool open;              // hw_chip_set may replace it
    size_t offset;          // of its hw_fact within hw_chip
} hw_field;
size_t hw_chip_field_count(void);
const hw_field *hw_chip_field_at(size_t index);
const hw_field *hw_chip_field_find(const char *name);       // NULL if there is none
const hw_fact *hw_chip_fact(const hw_chip *chip, const hw_field *field);    // borrowed from `chip`

// Overlays. A copy is a value; the strings that it points to live forever.
hw_chip hw_chip_copy(const hw_chip *chip);
// Replaces one number and marks it SET by `who` (a static string, for instance "calibration"; NULL is "experiment").
// NOT_FOUND with the nearest name; INVALID if out of range, not whole where it must be, or FIXED.
GLIA_MUST_USE glia_status hw_chip_set(hw_chip *chip, const char *field, double value, const char *who);
// Applies `{ "field": number, ... }`; a problem names its line. `who` as above. All or nothing.
GLIA_MUST_USE glia_status hw_chip_overlay(hw_chip *chip, const glia_json *fields, const char *who);
// What must hold between numbers: usable SBUF within SBUF, banks fill PSUM, sustained DMA within peak. For use after
// the last hw_chip_set, since one step may break what the next mends.
GLIA_MUST_USE glia_status hw_chip_check(const hw_chip *chip);

// Which element types an operand on the chip may have, by the names of num/dtypes.def. A type that no row of
// chip_dtypes.def names is not on any chip: it runs on soft POOL instructions.
bool hw_chip_has_dtype(const hw_chip *chip, const char *dtype);

// ---- what follows from a chip's numbers ----------------------------------------------------------------------------

typedef enum hw_engine { HW_PE, HW_ACT, HW_DVE, HW_POOL, HW_SP, HW_ENGINE_COUNT } hw_engine;
const char *hw_engine_name(hw_engine engine);               // "PE"
double hw_engine_hz(const hw_chip *chip, hw_engine engine);

// Classes of matmul operands that PE runs at different rates.
typedef enum hw_rate_class { HW_RATE_BF16, HW_RATE_FP8, HW_RATE_FP32, HW_RATE_INT8, HW_RATE_MX,
                             HW_RATE_COUNT } hw_rate_class;
// Engine-model peak of one physical core's PE: rows x cols x 2 x clock / passes. 0 if the chip lacks the class.
// Timing uses this; MFU divides by the published chip peak below.
double hw_pe_flops(const hw_chip *chip, hw_rate_class rate);
double hw_chip_peak_flops(const hw_chip *chip, hw_rate_class rate);     // published; 0 if none is

bool hw_lnc_is_legal(const hw_chip *chip, int lnc);
// A logical core: one or two physical cores with their share of the chip. INVALID names the legal sizes.
typedef struct hw_core {
    const hw_chip *chip;        // borrowed
    int lnc;                    // physical cores in it
    uint64_t sbuf_bytes;        // of one physical core, reserved parts included
    uint64_t psum_bytes;        // of one physical core
    uint64_t hbm_bytes;         // its share, microcode not yet deducted
    uint64_t microcode_bytes;   // to deduct
    double hbm_bps;             // its share of the chip's bandwidth
    double dma_bps;             // sustained, all of its engines
    double peak_bf16_flops;     // its share of the published chip peak
    double hbm_stacks;          // its share: 0.5 where two cores use one stack
    int dma_engines, cc_cores;
} hw_core;
GLIA_MUST_USE glia_status hw_core_of(const hw_chip *chip, int lnc, hw_core *out);   // lnc 0: the chip's default
// What a logical core can draw from its HBM stack, as published, while `sharers` of them stream from it: all of the
// stack when it is alone, also where the stack is another core's too and hbm_bps above is less.
double hw_stack_bps(const hw_chip *chip, uint32_t sharers);

// ---- instances -----------------------------------------------------------------------------------------------------

typedef enum hw_topology { HW_SINGLE, HW_TORUS_2D, HW_SWITCH, HW_TOPOLOGY_COUNT } hw_topology;
const char *hw_topology_name(hw_topology topology);

typedef enum hw_purchase { HW_ON_DEMAND, HW_CAPACITY_BLOCK, HW_RESERVED_1Y, HW_RESERVED_3Y, HW_SPOT,
                           HW_PURCHASE_COUNT } hw_purchase;
const char *hw_purchase_name(hw_purchase purchase);         // "on-demand", "capacity-block", "1y", "3y", "spot"

typedef struct hw_price {
    hw_purchase purchase;
    hw_fact usd_per_hour;       // of the whole instance; ASSUMED prices say why in `note`
    const char *region;         // "us-east-1"; "any" for an assumed price, "unstated" where the source names none
    const char *date;           // of the snapshot, "2026-07-20" or "2026-07"
} hw_price;

typedef struct hw_instance {
    const char *name;           // "trn2.48xlarge"
    const char *text;           // one line for people
    const hw_chip *chip;
    hw_topology topology;
#define INSTANCE_FIELD(member, unit, low, high, text) hw_fact member;
#include "hw/instance_fields.def"
    const hw_price *prices;     // [price_count]
    size_t price_count;
} hw_instance;

#define INSTANCE(symbol) extern const hw_instance hw_instance_##symbol;
#include "hw/instances.def"

size_t hw_instance_count(void);
const hw_instance *hw_instance_at(size_t index);
// By name, letter case ignored. NOT_FOUND names what exists and the nearest.
GLIA_MUST_USE glia_status hw_instance_find(const char *name, const hw_instance **out);
// The smallest instance of a target ("trn2"), for predictions that do not name one. NOT_FOUND as hw_chip_find.
GLIA_MUST_USE glia_status hw_instance_for_target(const char *target, const hw_instance **out);
// On-demand if published, else a published capacity block, else an assumed price in the same order. Never NULL.
const hw_price *hw_instance_price(const hw_instance *instance);
const hw_price *hw_instance_price_of(const hw_instance *instance, hw_purchase purchase);   // NULL if there is none
// INVALID as hw_core_of.  lnc 0: the chip's default.
GLIA_MUST_USE glia_status hw_instance_logical_cores(const hw_instance *instance, int lnc, int64_t *out);

// ---- printing ------------------------------------------------------------------------------------------------------

// For people: a table of value, unit, provenance and key. JSON: a stable promise, schema "glia.hw/1" at the top.
void hw_list_print(glia_strbuf *out);
void hw_list_json(glia_json_writer *w, const char *key);
void hw_chip_print(const hw_chip *chip, glia_strbuf *out);
void hw_chip_json(const hw_chip *chip, glia_json_writer *w, const char *key);
void hw_instance_print(const hw_instance *instance, glia_strbuf *out);
void hw_instance_json(const hw_instance *instance, glia_json_writer *w, const char *key);
// "24.0 MiB", "820 GB/s", "2.4 GHz", "64 cycles": the value as people write it.
void hw_fact_print(hw_fact fact, glia_strbuf *out);

#endif
