// SPDX-License-Identifier: Apache-2.0
// custom-call: the Neuron targets that have one obvious definition [compiler:custom_calls]; every other one is refused
// by name. Each is computed in fp64 from the operands' values and rounded once.
//
//   AwsNeuronErf, AwsNeuronGelu, AwsNeuronGeluApprxTanh, AwsNeuronSilu   elementwise, one operand
//   AwsNeuronSoftmax   one operand; backend_config is the dim (the last one when empty)
//   AwsNeuronRmsNorm   x, weight [x.dims[dim]], epsilon (scalar); backend_config is the dim:
//                      x / sqrt(mean(x^2 over dim) + epsilon) * weight
#include "ir/eval/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// At -inf each of the three is its limit, 0, and not the NaN of -inf * 0.
static double silu(double x)
{
    return x == -INFINITY ? 0 : x / (1 + exp(-x));
}
static double gelu(double x)
{
    return x == -INFINITY ? 0 : x / 2 * erfc(-x * M_SQRT1_2);
}

static double gelu_tanh(double x)
{
    if (x == -INFINITY) return 0;
    const double sqrt_2_over_pi = M_2_SQRTPI * M_SQRT1_2;
    return x / 2 * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
}

static void elementwise(double (*f)(double), double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = f(x[i]);
}

static void each_silu(double *x, int64_t n)
{
    elementwise(silu, x, n);
}
static void each_gelu(double *x, int64_t n)
{
    elementwise(gelu, x, n);
}
static void each_gelu_tanh(double *x, int64_t n)
{
    elementwise(gelu_tanh, x, n);
}
static void each_erf(double *x, int64_t n)
{
    elementwise(erf, x, n);
}

// ---- along one dim ----
static void softmax_line(double *x, int64_t n, int64_t stride)
{
    double top = -INFINITY, sum = 0;

    for (int64_t i = 0; i < n; i++)
        top = fmax(top, x[i * stride]);
    for (int64_t i = 0; i < n; i++)
        sum += x[i * stride] = exp(x[i * stride] - top);
    for (int64_t i = 0; i < n; i++)
        x[i * stride] /= sum;
}

static void rms_norm_line(double *x, int64_t n, int64_t stride, const double *weight, double epsilon)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i * stride] * x[i * stride];
    const double scale = 1 / sqrt(sum / (double)n + epsilon);
    for (int64_t i = 0; i < n; i++)
        x[i * stride] = x[i * stride] * scale * weight[i];
}

static glia_status find_dim(const ir_inst *inst, const ir_shape *s, int *out)
{
    const char *text = inst->attrs.backend_config ? inst->attrs.backend_config : "";
    char *end;
    long dim = strtol(text, &end, 10);

    if (*text == '\0') dim = s->rank - 1;
    ENSURE(*end == '\0' && dim >= -s->rank && dim < s->rank, INVALID,
           "backend_config '%s' of '%s' is not a dim of a rank-%d operand\nhint: give the dim to normalise over, e.g. "
           "\"%d\"",
           text, inst->attrs.custom_call_target, s->rank, s->rank - 1);
    *out = (int)(dim < 0 ? dim + s->rank : dim);
    return GLIA_OK;
}

static glia_status load(ir_eval_context *c, const ir_eval_array *in, double **out)
{
    const int64_t n = ir_eval_count(in->shape->rank, in->shape->dims);

    ENSURE(ir_eval_domain_of(in->shape->dtype) == IR_EVAL_FLOAT, UNSUPPORTED,
           "custom call of %s; only floats are defined", num_dtype_get(in->shape->dtype)->name);
    TRY(ir_eval_scratch(c, (size_t)n, sizeof **out, out));
    ir_eval_load_f64(in->shape->dtype, in->data, (size_t)n, *out);
    return GLIA_OK;
}

static glia_status softmax(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, double *x)
{
    const ir_shape *s = operands[0].leaves[0].shape;
    int dim;

    TRY(find_dim(inst, s, &dim));
    const int64_t n = s->dims[dim], stride = ir_eval_count(s->rank - dim - 1, s->dims + dim + 1);
    const int64_t total = ir_eval_count(s->rank, s->dims);
    for (int64_t i = 0; i < total; i += n * stride)
        for (int64_t k = 0; k < stride; k++)
            softmax_line(x + i + k, n, stride);
    return GLIA_OK;
}

static glia_status rms_norm(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, double *x)
{
    const ir_shape *s = operands[0].leaves[0].shape;
    const ir_shape *w = operands[1].leaves[0].shape, *e = operands[2].leaves[0].shape;
    double *weight, *epsilon;
    int dim;

    TRY(find_dim(inst, s, &dim));
    const int64_t n = s->dims[dim], stride = ir_eval_count(s->rank - dim - 1, s->dims + dim + 1);
    const int64_t total = ir_eval_count(s->rank, s->dims);
    ENSURE(ir_eval_count(w->rank, w->dims) == n && ir_eval_count(e->rank, e->dims) == 1, INVALID,
           "weight has %lld elements and epsilon %lld, dim %d of the operand has %lld",
           (long long)ir_eval_count(w->rank, w->dims), (long long)ir_eval_count(e->rank, e->dims), dim, (long long)n);
    TRY(load(c, &operands[1].leaves[0], &weight));
    TRY(load(c, &operands[2].leaves[0], &epsilon));
    for (int64_t i = 0; i < total; i += n * stride)
        for (int64_t k = 0; k < stride; k++)
            rms_norm_line(x + i + k, n, stride, weight, *epsilon);
    return GLIA_OK;
}

// clang-format off
static const struct target {
    const char *name;
    int operand_count;
    void (*each)(double *x, int64_t n);     // one of the two
    glia_status (*lines)(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands, double *x);
} targets[] = {
    { "AwsNeuronErf", 1, each_erf, NULL },
    { "AwsNeuronGelu", 1, each_gelu, NULL },
    { "AwsNeuronGeluApprxTanh", 1, each_gelu_tanh, NULL },
    { "AwsNeuronSilu", 1, each_silu, NULL },
    { "AwsNeuronSoftmax", 1, NULL, softmax },
    { "AwsNeuronRmsNorm", 3, NULL, rms_norm },
};
// clang-format on

static const struct target *find_target(const char *name)
{
    for (size_t i = 0; name && i < COUNT_OF(targets); i++)
        if (strcmp(targets[i].name, name) == 0) return &targets[i];
    return NULL;
}

glia_status ir_eval_custom_call(ir_eval_context *c, const ir_inst *inst, const ir_eval_value *operands,
                                ir_eval_value *out)
{
    const char *name = inst->attrs.custom_call_target ? inst->attrs.custom_call_target : "";
    const struct target *t = find_target(name);
    double *x;

    ENSURE(t, UNSUPPORTED,
           "custom-call target '%s' has no definition here; defined are AwsNeuronErf, AwsNeuronGelu, "
           "AwsNeuronGeluApprxTanh, AwsNeuronSilu, AwsNeuronSoftmax and AwsNeuronRmsNorm\n"
           "hint: a new one is a row of 'targets' in ir/eval/custom_call.c",
           name);
    ENSURE(inst->operand_count == t->operand_count && out->count == 1, INVALID,
           "'%s' takes %d operands and gives 1 result, got %d and %d", name, t->operand_count, inst->operand_count,
           out->count);
    for (int i = 0; i < t->operand_count; i++)
        ENSURE(operands[i].count == 1, INVALID, "operand %d of '%s' is a tuple of %d arrays, must be an array", i, name,
               operands[i].count);
    const ir_shape *from = operands[0].leaves[0].shape, *to = out->leaves[0].shape;
    const int64_t n = ir_eval_count(from->rank, from->dims);
    ENSURE(n == ir_eval_count(to->rank, to->dims) && ir_eval_domain_of(to->dtype) == IR_EVAL_FLOAT, INVALID,
           "'%s' turns %lld elements into %lld of %s; shapes must be equal and of floats", name, (long long)n,
           (long long)ir_eval_count(to->rank, to->dims), num_dtype_get(to->dtype)->name);
    TRY(load(c, &operands[0].leaves[0], &x));
    if (t->each)
        t->each(x, n);
    else
        TRY(t->lines(c, inst, operands, x));
    TRY(ir_eval_new(c, &out->leaves[0]));
    ir_eval_store_f64(to->dtype, out->leaves[0].data, (size_t)n, x);
    return GLIA_OK;
}
