// SPDX-License-Identifier: Apache-2.0
// `glia version`: this build, and the libnrt whose interface it has.
#include "nrt/nrt_version.h"

#define TOOL_VERB version
#define TOOL_OPTIONS "options/version.def"
#include "option_table.h"

static glia_status run(tool *t, const void *values)
{
    const version_options *o = values;
    nrt_version_t v = { 0 };
    ENSURE(nrt_get_version(&v, sizeof v) == NRT_SUCCESS, INTERNAL, "the runtime does not tell its version");
    glia_strbuf out = { 0 };
    if (o->json) {
        glia_json_writer w = tool_json_begin(&out, "glia.version/1", true);
        glia_json_string(&w, "version", GLIA_VERSION);
        glia_json_begin_object(&w, "libnrt");
        glia_json_uint(&w, "major", v.rt_major);
        glia_json_uint(&w, "minor", v.rt_minor);
        glia_json_uint(&w, "patch", v.rt_patch);
        glia_json_uint(&w, "maintenance", v.rt_maintenance);
        glia_json_end_object(&w);
        glia_json_string(&w, "compiler", __VERSION__);
        return tool_json_end(t, &w);
    }
    glia_putf(&out, "glia " GLIA_VERSION ", with the interface of libnrt %llu.%llu.%llu.%llu\n", (unsigned long long)v.rt_major,
              (unsigned long long)v.rt_minor, (unsigned long long)v.rt_patch, (unsigned long long)v.rt_maintenance);
    glia_status s = tool_print(t, &out);
    glia_strbuf_fini(&out);
    return s;
}

TOOL_DEFINE(version)
