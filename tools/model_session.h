// SPDX-License-Identifier: Apache-2.0
// What verbs that run a model have in common: from the rows of options/model.def to an open device and an engine.
#ifndef GLIA_TOOLS_MODEL_SESSION_H
#define GLIA_TOOLS_MODEL_SESSION_H

#include "serve/engine.h"
#include "tool.h"

// The values of options/model.def, in a form that does not depend on the verb.
typedef struct tool_model_values {
    const char *model, *instance, *dtype, *buckets;
    int64_t lnc, context, threads;
    bool cache;
} tool_model_values;
#define TOOL_MODEL_VALUES(o)                                                                                           \
    ((tool_model_values){ (o)->model, (o)->instance, (o)->dtype, (o)->buckets, (o)->lnc, (o)->context, (o)->threads, (o)->cache })

typedef struct tool_session {
    serve_engine *engine;
    const hw_instance *instance;
    bool open;              // the device
} tool_session;
void tool_session_fini(tool_session *s);
GLIA_MUST_USE glia_status tool_session_open(tool *t, const tool_model_values *v, tool_session *out);

// "bf16" or "fp32", and other names of the two.
GLIA_MUST_USE glia_status tool_parse_dtype(const char *text, num_dtype *out);
// An instance by its name, or the smallest of a target ("trn1").
GLIA_MUST_USE glia_status tool_find_instance(const char *name, const hw_instance **out);

#endif
