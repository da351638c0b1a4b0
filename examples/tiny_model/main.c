// SPDX-License-Identifier: Apache-2.0
// Writes the tiny checkpoint to a file:
//
//   tiny_model tiny.gguf [seed]
//   glia generate --model tiny.gguf --prompt "the river" --max-tokens 32 --dtype fp32
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "tiny_model.h"

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3) {
        (void)fprintf(stderr, "usage: tiny_model FILE [SEED]\n");
        return 2;
    }
    AUTO_VALUE(glia_strbuf) file = {0};
    tiny_model_write(argc > 2 ? strtoull(argv[2], NULL, 10) : 1, &file);
    AUTO_STATUS failed = glia_file_write_atomic(argv[1], glia_strbuf_span(&file));
    if (!failed) return 0;
    (void)fprintf(stderr, "tiny_model: %s\n", glia_status_message(failed));
    return glia_code_exit(glia_status_code(failed));
}
