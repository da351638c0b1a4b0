// SPDX-License-Identifier: Apache-2.0
// See host.h. Linux tells in /proc; `ulimit -v` bounds the address space, of which the process has used some.
#include "base/host.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t available(void)
{
    char line[128];
    unsigned long long kib;
    uint64_t found = UINT64_MAX;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1) found = (uint64_t)kib << 10;
    if (file) (void)fclose(file);
    return found;
}

static uint64_t used_address_space(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%llu", &pages) != 1) pages = 0;
    if (file) (void)fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t glia_host_memory(void)
{
    struct rlimit limit;
    const uint64_t host = available();
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return host;
    const uint64_t used = used_address_space();
    const uint64_t own = limit.rlim_cur > used ? (uint64_t)limit.rlim_cur - used : 0;
    return own < host ? own : host;
}
