// SPDX-License-Identifier: Apache-2.0
// What config.c and its two readers (config_gguf.c, config_hf.c) share; nobody else includes it.
#ifndef GLIA_MODEL_CONFIG_INTERNAL_H
#define GLIA_MODEL_CONFIG_INTERNAL_H

#include "model/config.h"
#include "model/gguf.h"

typedef enum config_need { CONFIG_NEEDED, CONFIG_DERIVED } config_need;
typedef struct config_field {
    const char *gguf, *hf;
    size_t offset;          // of the int in model_config
    config_need need;
    int64_t low, high;
} config_field;
extern const config_field config_fields[];
extern const size_t config_field_count;

typedef struct config_family {
    const char *name, *gguf, *hf_type, *hf_arch;
} config_family;
const config_family *config_family_get(model_family family);

static inline int *config_int(model_config *c, const config_field *f)
{
    return (int *)(void *)((char *)c + f->offset);
}

// Sets what the family alone decides (activation, norms, scales that no source spells); `c->id` and `source` are set.
void config_family_defaults(model_config *c);
// Every `pattern`-th layer global, the others local; 0 makes all global.
void config_set_pattern(model_config *c, int pattern);
// Derives sliding_pattern from layer_kind (which is set), 0 if irregular.
void config_find_pattern(model_config *c);
// Fills n_kv_heads and head_dim where the source left them out, and judges them; may be called again.
GLIA_MUST_USE glia_status config_derive_heads(model_config *c, const char *what);
// Fills whatever else was DERIVED and judges the whole.
GLIA_MUST_USE glia_status config_finish(model_config *c, const char *what);

// Missing, misshapen and unknown tensors, all in one error (tensor_names.c).
GLIA_MUST_USE glia_status config_check_tensors(const model_config *c, const model_checkpoint *cp);
GLIA_MUST_USE glia_status config_read_gguf(const model_gguf *g, model_config *out);

#endif
