// SPDX-License-Identifier: Apache-2.0
#include "dev/machine.h"

glia_status dev_fast_create(dev_loaded *l, struct dev_fast **out)
{
    (void)l;
    *out = NULL;
    return GLIA_OK;
}

void dev_fast_destroy(struct dev_fast *fast)
{
    (void)fast;
}

glia_status dev_run_bound(dev_loaded *l, const dev_options *options)
{
    return dev_run_exact(l, options);
}

void dev_buffer_release(dev_buffer *b)
{
    (void)b;
}
