// SPDX-License-Identifier: Apache-2.0
// info.json says what the file is, kelf-a.json names the nodes of the graph, sgNN/def.json the variables and queues of
// a core, in the words of the public outline (docs/facts/runtime.md). Deterministic: in tensor order, no time, no host.
#include "neff/outline.h"
#include "base/json.h"

#include <stdio.h>
#include <string.h>

void neff_outline_info(const isa_program *p, const neff_meta *meta, uint32_t core, glia_strbuf *out)
{
    glia_json_writer w = glia_json_writer_of(out, true);
    glia_json_begin_object(&w, NULL);
    glia_json_string(&w, "schema", "glia.neff/1");
    glia_json_string(&w, "note", "made by glia for its simulated NeuronCores; a real chip cannot load it");
    glia_json_string(&w, "tool_version", meta->compiler);
    glia_json_string(&w, "flags", meta->flags);
    glia_json_string(&w, "source", meta->source);
    glia_json_string(&w, "name", p->name);
    glia_json_string(&w, "target", p->target);
    glia_json_uint(&w, "cores", p->core_count);
    glia_json_end_object(&w);
    glia_put(out, "\n");
}

void neff_outline_graph(const isa_program *p, const neff_meta *meta, uint32_t core, glia_strbuf *out)
{
    glia_json_writer w = glia_json_writer_of(out, true);
    glia_json_begin_object(&w, NULL);
    glia_json_begin_array(&w, "nodes");
    for (uint32_t c = 0; c < p->core_count; c++) {
        char name[16];
        snprintf(name, sizeof name, "sg%02u", c);
        glia_json_begin_object(&w, NULL);
        glia_json_string(&w, "name", name);
        glia_json_string(&w, "executor", "Neuron Core");
        glia_json_end_object(&w);
    }
    glia_json_end_array(&w);
    glia_json_end_object(&w);
    glia_put(out, "\n");
}

static bool is_first_of_name(const isa_program *p, uint32_t t)
{
    for (uint32_t k = 0; k < t; k++)
        if (strcmp(p->tensors.items[k].name, p->tensors.items[t].name) == 0) return false;
    return true;
}

static void put_variable(glia_json_writer *w, const isa_program *p, uint32_t t)
{
    static const char *const types[ISA_TENSOR_KIND_COUNT] = {"input", "output", "file", "tmp-buf"};
    const isa_tensor *tensor = &p->tensors.items[t];
    glia_strbuf key = {0};
    glia_put(&key, tensor->name);
    if (!is_first_of_name(p, t)) glia_putf(&key, "#%u", t);
    glia_json_begin_object(w, glia_strbuf_str(&key));
    glia_json_string(w, "type", types[tensor->kind]);
    glia_json_uint(w, "var_id", t);
    glia_json_uint(w, "size", tensor->bytes);
    glia_json_string(w, "dtype", num_dtype_get((num_dtype)tensor->dtype)->name);
    glia_json_begin_array(w, "shape");
    for (int d = 0; d < tensor->rank; d++)
        glia_json_int(w, NULL, tensor->dims[d]);
    glia_json_end_array(w);
    if (tensor->kind == ISA_TENSOR_CONST) {
        char path[32];
        snprintf(path, sizeof path, "glia/const/%06u", t);
        glia_json_string(w, "file_name", path);
    }
    if (tensor->alias >= 0) glia_json_int(w, "referenced_var_id", tensor->alias);
    glia_json_end_object(w);
    glia_strbuf_fini(&key);
}

static uint32_t queues_of(const isa_core *core)
{
    uint32_t used = 0;
    for (uint32_t k = 0; k < core->functions.count; k++) {
        const isa_function *f = core->functions.items[k];
        for (uint32_t n = 0; n < f->insns.count; n++)
            if (f->insns.items[n].queue != ISA_NO_QUEUE) used |= 1u << f->insns.items[n].queue;
    }
    return used;
}

void neff_outline_definition(const isa_program *p, const neff_meta *meta, uint32_t core, glia_strbuf *out)
{
    glia_json_writer w = glia_json_writer_of(out, true);
    glia_json_begin_object(&w, NULL);
    glia_json_begin_object(&w, "var");
    for (uint32_t t = 0; t < p->tensors.count; t++) {
        const int32_t owner = p->tensors.items[t].core;
        if (owner < 0 || (uint32_t)owner == core) put_variable(&w, p, t);
    }
    glia_json_end_object(&w);
    glia_json_begin_object(&w, "dma_queue");
    const uint32_t used = queues_of(&p->cores[core]);
    for (uint32_t q = 0; q < ISA_QUEUES; q++) {
        if (!((used >> q) & 1)) continue;
        char name[16];
        snprintf(name, sizeof name, "q%u", q);
        glia_json_begin_object(&w, name);
        glia_json_string(&w, "type", "data");
        glia_json_end_object(&w);
    }
    glia_json_end_object(&w);
    glia_json_end_object(&w);
    glia_put(out, "\n");
}
