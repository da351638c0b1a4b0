# SPDX-License-Identifier: Apache-2.0
"""What machine this is, in terms that matter for speed; and how much of it other programs took meanwhile."""
import os
import re
import resource
import time


def describe():
    try:
        text = open("/proc/cpuinfo").read()
    except OSError:
        text = ""
    model = re.search(r"model name\s*:\s*(.*)", text)
    family = re.search(r"cpu family\s*:\s*(\d+)", text)
    flags = (re.search(r"flags\s*:\s*(.*)", text) or [None, ""])[1].split()
    known = [name for flag, name in (("avx2", "AVX2"), ("avx512f", "AVX-512"), ("avx512_bf16", "AVX-512 BF16"),
                                     ("amx_bf16", "AMX")) if flag in flags]
    name = model[1].strip() if model else "unknown CPU"
    return {"cpu": f"{name} family {family[1]}" if family else name, "isa": ", ".join(known) or "unknown ISA",
            "cpus": os.cpu_count()}


def busy():
    """Seconds of CPU that all programs used, and those of our finished and own processes; and when."""
    try:
        fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    except OSError:
        return None
    tick = os.sysconf("SC_CLK_TCK")
    everyone = (sum(fields[:8]) - fields[3] - fields[4]) / tick         # without idle and waiting for disks
    own = sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
    return everyone, own, time.monotonic()


def busy_share_of_others(before):
    after = busy()
    if not before or not after or after[2] <= before[2]:
        return 0.0
    others = (after[0] - before[0]) - (after[1] - before[1])
    return max(0.0, others / (after[2] - before[2]) / (os.cpu_count() or 1))
