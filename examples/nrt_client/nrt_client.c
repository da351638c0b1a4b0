// SPDX-License-Identifier: Apache-2.0
// Runs a NEFF once, as a program written for AWS's libnrt would: nothing here is glia's but the library that it is
// linked with. Inputs are filled from files of raw bytes (in the order of the NEFF's inputs; those without one stay
// zero), and the first values of each output are printed.
//
//   nrt_client model.neff [input.bin ...]
#include <nrt/nrt.h>
#include <nrt/nrt_experimental.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        NRT_STATUS status = (call);                                                                                    \
        if (status != NRT_SUCCESS) {                                                                                   \
            fprintf(stderr, "%s: %s\n", #call, nrt_get_status_as_str(status));                                         \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) || (*size = (size_t)ftell(file)) == 0) {
        fprintf(stderr, "cannot read '%s'\n", path);
        exit(1);
    }
    rewind(file);
    void *bytes = malloc(*size);
    if (!bytes || fread(bytes, 1, *size, file) != *size) exit(1);
    fclose(file);
    return bytes;
}

static void fill(nrt_tensor_t *tensor, const char *path)
{
    size_t size = 0;
    void *bytes = read_file(path, &size);
    CHECK(nrt_tensor_write(tensor, bytes, 0, size));
    free(bytes);
}

static void print_output(const nrt_tensor_info_t *info, nrt_tensor_t *tensor)
{
    float first[4] = { 0 };
    const size_t size = info->size < sizeof first ? info->size : sizeof first;
    printf("%s: %zu bytes", info->name, info->size);
    if (info->dtype == NRT_DTYPE_FLOAT32) {
        CHECK(nrt_tensor_read(tensor, first, 0, size));
        for (size_t k = 0; k < size / sizeof *first; k++) printf(" %g", first[k]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s model.neff [input.bin ...]\n", argv[0]);
        return 2;
    }
    size_t size = 0;
    void *neff = read_file(argv[1], &size);
    nrt_model_t *model = NULL;
    nrt_tensor_set_t *sets[2] = { NULL, NULL };         // by usage: inputs, outputs
    nrt_tensor_info_array_t *info = NULL;
    CHECK(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""));
    CHECK(nrt_load(neff, size, 0, -1, &model));
    free(neff);
    CHECK(nrt_get_model_tensor_info(model, &info));
    nrt_tensor_t **tensors = calloc(info->tensor_count, sizeof *tensors);
    for (int k = 0; k < 2; k++) CHECK(nrt_allocate_tensor_set(&sets[k]));
    int next_file = 2;
    for (uint64_t k = 0; k < info->tensor_count; k++) {
        nrt_tensor_info_t *t = &info->tensor_array[k];
        CHECK(nrt_tensor_allocate(NRT_TENSOR_PLACEMENT_DEVICE, 0, t->size, t->name, &tensors[k]));
        CHECK(nrt_add_tensor_to_tensor_set(sets[t->usage], t->name, tensors[k]));
        if (t->usage == NRT_TENSOR_USAGE_INPUT && next_file < argc) fill(tensors[k], argv[next_file++]);
    }
    CHECK(nrt_execute(model, sets[0], sets[1]));
    for (uint64_t k = 0; k < info->tensor_count; k++)
        if (info->tensor_array[k].usage == NRT_TENSOR_USAGE_OUTPUT) print_output(&info->tensor_array[k], tensors[k]);
    for (uint64_t k = 0; k < info->tensor_count; k++) nrt_tensor_free(&tensors[k]);
    free(tensors);
    for (int k = 0; k < 2; k++) nrt_destroy_tensor_set(&sets[k]);
    CHECK(nrt_free_model_tensor_info(info));
    CHECK(nrt_unload(model));
    nrt_close();
    return 0;
}
