// SPDX-License-Identifier: Apache-2.0
// convert_cli FROM TO < raw > raw: converts an array on stdin, so that another language can compare.
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "num/dtype.h"

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s FROM TO < raw > raw\n", argv[0]);
        return 2;
    }
    const num_dtype from = num_dtype_find(argv[1], strlen(argv[1])), to = num_dtype_find(argv[2], strlen(argv[2]));
    if (!num_can_convert(from) || !num_can_convert(to)) {
        fprintf(stderr, "'%s' to '%s' cannot be converted\n", argv[1], argv[2]);
        return 2;
    }
    glia_strbuf in = {0};
    char block[65536];
    for (size_t n; (n = fread(block, 1, sizeof block, stdin)) > 0;)
        glia_put_bytes(&in, block, n);
    const size_t count = in.size / (size_t)num_size(from);
    void *out = glia_alloc(glia_array_bytes(count, (size_t)num_size(to)));
    num_convert(to, out, from, in.data, count);
    const bool ok = fwrite(out, (size_t)num_size(to), count, stdout) == count && fflush(stdout) == 0;
    glia_free(out);
    glia_strbuf_fini(&in);
    return ok ? 0 : 1;
}
