// SPDX-License-Identifier: Apache-2.0
// The device (see device.h).
#include "serve/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "glia/rt.h"

// What a program above sees of an NRT_STATUS. What is not here is INTERNAL: glia calls the runtime by its rules.
static const struct {
    NRT_STATUS status;
    glia_code code;
} codes[] = {
    {NRT_INVALID, GLIA_CODE_INVALID},
    {NRT_RESOURCE, GLIA_CODE_EXHAUSTED},
    {NRT_LOAD_NOT_ENOUGH_NC, GLIA_CODE_EXHAUSTED},
    {NRT_TIMEOUT, GLIA_CODE_HANG},
    {NRT_UNSUPPORTED_NEFF_VERSION, GLIA_CODE_UNSUPPORTED},
    {NRT_EXEC_BAD_INPUT, GLIA_CODE_FAULT},
    {NRT_EXEC_COMPLETED_WITH_NUM_ERR, GLIA_CODE_FAULT},
    {NRT_EXEC_COMPLETED_WITH_ERR, GLIA_CODE_FAULT},
    {NRT_EXEC_OOB, GLIA_CODE_FAULT},
};

glia_status serve_nrt_status(NRT_STATUS status, const char *file, int line, const char *doing, ...)
{
    if (status == NRT_SUCCESS) return GLIA_OK;
    glia_code code = GLIA_CODE_INTERNAL;
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (codes[i].status == status) code = codes[i].code;
    char what[160];
    va_list args;
    va_start(args, doing);
    (void)vsnprintf(what, sizeof what, doing, args);
    va_end(args);
    return glia_status_make(code, file, line, "%s: %s: %s", what, nrt_get_status_as_str(status), glia_rt_last_error());
}

static glia_status set_number(const char *name, int value)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", value);
    ENSURE(setenv(name, text, 1) == 0, EXHAUSTED, "'%s' cannot be set to %d", name, value);
    return GLIA_OK;
}

glia_status serve_device_open(const hw_instance *instance, int lnc, int threads)
{
    const hw_chip *chip = instance->chip;
    if (!lnc) lnc = (int)hw_int(chip->lnc_default);
    ENSURE(hw_lnc_is_legal(chip, lnc), INVALID, "logical core size %d; '%s' has 1 to %d\nhint: pass --lnc 1", lnc,
           chip->target, (int)hw_int(chip->lnc_max));
    ENSURE(setenv("GLIA_INSTANCE", instance->name, 1) == 0, EXHAUSTED, "'GLIA_INSTANCE' cannot be set to '%s'",
           instance->name);
    TRY(set_number("NEURON_LOGICAL_NC_CONFIG", lnc));
    (void)unsetenv("NEURON_RT_VIRTUAL_CORE_SIZE"); // its older name, which may say something else
    // Reasons come back as statuses; the runtime's own log would say each of them a second time.
    ENSURE(setenv("NEURON_RT_LOG_LEVEL", "QUIET", 0) == 0, EXHAUSTED, "'NEURON_RT_LOG_LEVEL' cannot be set");
    if (threads) TRY(set_number("GLIA_THREADS", threads));
    TRY_NRT(nrt_init(NRT_FRAMEWORK_TYPE_NO_FW, "", ""), "opening '%s'", instance->name);
    return GLIA_OK;
}

void serve_device_close(void)
{
    nrt_close();
}
