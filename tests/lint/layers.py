#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A folder of src/ is a layer, and includes only what its line reaches. LINES is docs/style.md's table.

`dev` says what happens and `sim` says when: they never meet but in `rt`. The compiler stops at the tile program: no
container, device or clock. A library that is not libc is reached through the one file that LIBRARIES names. Names from
outside stay at the edge: `nrt_*` is defined in src/rt/nrt_abi.c alone. CMake's DEPS lists are held to the same table.
"""
import re

from tree import code_only, run

# A layer, and what it may include besides itself; each also reaches what those reach.
LINES = {
    "base": "",
    "num": "base",
    "hw": "base",
    "isa": "hw num",
    "ir": "num",
    "compile": "ir isa",
    "neff": "isa",
    "dev": "isa num",
    "sim": "isa",
    "coll": "hw",
    "rt": "neff dev sim coll",
    "model": "ir",
    "train": "compile rt model",
    "serve": "compile rt model",
    "plan": "compile rt model",
}
# The command line is a client of the layers: it may use any of them but rt's inside, and nothing includes it. Examples
# are programs of users: they need what is public, or the one layer that they show.
CLIENTS = {"tools": set(LINES) - {"rt"}, "examples": {"base", "num"}}
PUBLIC = ("glia/", "nrt/")                  # include/: needs libc alone
PUBLIC_USERS = {"rt", "train", "serve", "plan"}
ABOVE_RT = {"model", "train", "serve", "plan"}    # they talk to rt through include/nrt and include/glia, as anyone would

LIBC = set("""assert.h complex.h ctype.h dirent.h dlfcn.h errno.h fcntl.h fenv.h float.h getopt.h immintrin.h inttypes.h
limits.h linux/falloc.h locale.h math.h poll.h pthread.h sched.h setjmp.h signal.h stdalign.h stdarg.h stdatomic.h stdbool.h
stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h sys/file.h sys/ioctl.h sys/mman.h sys/random.h
sys/resource.h sys/stat.h sys/syscall.h sys/time.h sys/types.h sys/uio.h sys/wait.h termios.h time.h unistd.h wchar.h
cpuid.h arm_neon.h sys/auxv.h sys/sysinfo.h sys/statvfs.h sys/vfs.h""".split())
LIBRARIES = {
    "zstd.h": ("src/neff/codec.c",),
    "xxhash.h": ("src/neff/codec.c",),
    "openssl/evp.h": ("src/neff/codec.c", "src/compile/key.c"),
}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)
NRT_DEFINITION = re.compile(r"^(?:[A-Za-z_][\w \t*]*[ \t*])?(nrt_\w+)\([^;{}]*\)\s*\{", re.MULTILINE)
NRT_HOME = "src/rt/nrt_abi.c"
RULES = ["layer-include", "layer-order", "rt-public", "own-path", "library", "nrt-edge", "cmake-deps"]


def reach(layer, lines=None):
    lines = lines or LINES
    found = {layer}
    for below in lines[layer].split():
        found |= reach(below, lines)
    return found


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_quoted(tree, name, layer, line, target):
    top = target.split("/")[0]
    if target.startswith(PUBLIC):
        if layer not in PUBLIC_USERS:
            tree.report(name, line, "layer-include", f"'{layer}' includes the public header '{target}'",
                        "public headers are declared above and implemented in rt; pass what is needed as an argument")
        return
    if top not in LINES:
        beside = (tree.root / name).parent / target
        if not beside.exists():
            tree.report(name, line, "own-path", f"'{target}' names no layer",
                        f"include files of src/ as \"<layer>/<file>\", e.g. \"{layer}/{target}\"")
        return
    if top == "rt" and layer in ABOVE_RT:
        tree.report(name, line, "rt-public", f"'{layer}' includes '{target}', which is private to rt",
                    "use nrt/nrt.h, as a program written for libnrt would, or glia/rt.h")
        return
    if top not in reach(layer):
        allowed = " ".join(sorted(reach(layer) - {layer})) or "nothing"
        tree.report(name, line, "layer-include", f"'{layer}' includes '{target}'; it reaches {allowed}",
                    "move the code to a layer that reaches both, or pass the value in")


def check_client(tree, name, client, line, target):
    top = target.split("/")[0]
    if top in LINES and top not in CLIENTS[client]:
        tree.report(name, line, "layer-include", f"'{client}' includes '{target}'; it may use {' '.join(sorted(CLIENTS[client]))}",
                    "use the public header (glia/ or nrt/)")


def check_angled(tree, name, line, target):
    as_a_user_would = name.startswith("examples/") and target.startswith(PUBLIC)
    if target in LIBC or as_a_user_would:
        return
    if target not in LIBRARIES:
        tree.report(name, line, "library", f"<{target}> is neither libc nor a library of DESIGN's list",
                    "add a row to LIBRARIES in tests/lint/layers.py that names its one file, with the decision in docs/decisions/")
    elif name not in LIBRARIES[target]:
        tree.report(name, line, "library", f"<{target}> is used outside {' and '.join(LIBRARIES[target])}",
                    "call that file's functions instead")


def check_cmake(tree, layer):
    name = f"src/{layer}/CMakeLists.txt"
    if not (tree.root / name).exists():
        return
    text = tree.text(name)
    for match in re.finditer(r"glia_layer\(\s*(\w+)(.*?)\)", text, re.DOTALL):
        deps = re.search(r"\bDEPS\b(.*?)(?:\bLIBS\b|\bSOURCES\b|$)", match.group(2), re.DOTALL)
        for dep in (deps.group(1).split() if deps else []):
            if dep not in reach(layer):
                tree.report(name, line_of(text, match.start()), "cmake-deps", f"'{layer}' links '{dep}', which it does not reach",
                            "take it out of DEPS")


def check(tree):
    for layer, below in LINES.items():
        for other in below.split():
            if layer in reach(other):
                tree.report("tests/lint/layers.py", 1, "layer-order", f"'{layer}' and '{other}' reach each other", "break the cycle")
        check_cmake(tree, layer)
    for name in tree.select(under=("src/", "include/", "tools/", "examples/"), suffixes=(".c", ".h", ".inc", ".def")):
        text = tree.text(name)
        code = code_only(text)
        parts = name.split("/")
        layer = parts[1] if parts[0] == "src" else None
        for match in INCLUDE.finditer(text):
            if not code[match.start():match.end()].strip().startswith("#"):
                continue
            kind, target = match.groups()
            line = line_of(text, match.start())
            if kind == "<":
                check_angled(tree, name, line, target)
            elif parts[0] in CLIENTS:
                check_client(tree, name, parts[0], line, target)
            elif layer is None:
                if not target.startswith(PUBLIC) and not ((tree.root / name).parent / target).exists():
                    tree.report(name, line, "layer-include", f"a public header includes '{target}'",
                                "public headers need libc and each other alone")
            elif layer in LINES:
                check_quoted(tree, name, layer, line, target)
        if name.endswith(".c") and name != NRT_HOME:
            for match in NRT_DEFINITION.finditer(code):
                tree.report(name, line_of(code, match.start()), "nrt-edge", f"'{match.group(1)}' is defined outside {NRT_HOME}",
                            f"define it in {NRT_HOME}, as check, convert, call, convert back")


if __name__ == "__main__":
    run(__doc__.splitlines()[0], check, RULES)
