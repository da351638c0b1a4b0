#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lints themselves: a small tree that breaks one rule must be found, with the line; a tree that breaks none passes."""
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
C = "// SPDX-License-Identifier: Apache-2.0\n"
GOOD = {
    "src/base/base.h": C + "#pragma once\n#include <stdlib.h>\nvoid *base_alloc(size_t size);\n",
    "src/base/base.c": C + '#include "base/base.h"\nvoid *base_alloc(size_t size)\n{\n    return malloc(size);\n}\n',
    "src/num/num.c": C + '#include "base/base.h"\n// strcpy(a, b) in a comment\nconst char *num_text = "malloc(1)";\n',
    "src/dev/CMakeLists.txt": "glia_layer(dev SOURCES dev.c DEPS isa num hw base)\n",
    "src/serve/serve.c": C + "#include <nrt/nrt.h>\n#include \"nrt/nrt.h\"\n".replace("#include <nrt/nrt.h>\n", ""),
    "README.md": "see `src/num/num.c`, `base.h`, `src/n*/*.c` and [rt](src/rt/)\n",
    "include/nrt/nrt.h": C + "#pragma once\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint nrt_init(void);\n#ifdef __cplusplus\n}\n#endif\n",
    "docs/README.md": "# Documentation\n",
    "src/rt/nrt_abi.c": C + '#include "nrt/nrt.h"\nint nrt_init(void)\n{\n    return 0;\n}\n',
}
# (lint, path, text, rule, line)
BAD = [
    ("layers", "src/sim/run.c", C + '#include "dev/dev.h"\n', "layer-include", 2),
    ("layers", "src/dev/run.c", C + '\n#include "sim/sim.h"\n', "layer-include", 3),
    ("layers", "src/compile/emit.c", C + '#include "neff/neff.h"\n', "layer-include", 2),
    ("layers", "src/compile/emit.c", C + '#include "dev/dev.h"\n', "layer-include", 2),
    ("layers", "src/base/up.c", C + '#include "num/num.h"\n', "layer-include", 2),
    ("layers", "src/isa/a.c", C + '#include "nrt/nrt.h"\n', "layer-include", 2),
    ("layers", "src/serve/a.c", C + '#include "rt/rt.h"\n', "rt-public", 2),
    ("layers", "tools/a.c", C + '#include "rt/rt.h"\n', "layer-include", 2),
    ("layers", "src/num/a.c", C + '#include "nowhere.h"\n', "own-path", 2),
    ("layers", "src/isa/a.c", C + "#include <zstd.h>\n", "library", 2),
    ("layers", "src/rt/a.c", C + "#include <curl/curl.h>\n", "library", 2),
    ("layers", "src/rt/a.c", C + "int nrt_close(void)\n{\n    return 0;\n}\n", "nrt-edge", 2),
    ("layers", "src/dev/CMakeLists.txt", "\nglia_layer(dev SOURCES a.c DEPS isa sim)\n", "cmake-deps", 2),
    ("layers", "include/glia/a.h", C + '#include "rt/rt.h"\n', "layer-include", 2),
    ("source", "src/num/a.c", "int a;\n", "spdx", 1),
    ("source", "scripts/a", "#!/bin/sh\necho\n", "spdx", 1),
    ("source", "src/num/a.c", C + "int a;\n" * 1500, "length", 1501),
    ("source", "src/num/a.c", C + "void f(char *a) { strcpy(a, a); }\n", "banned-call", 2),
    ("source", "src/num/a.c", C + "void *f(void) { return malloc(1); }\n", "banned-call", 2),
    ("source", "tools/a.c", C + "\nint f(char *a) { return atoi (a); }\n", "banned-call", 3),
    ("source", "docs/a.md", "see /" + "work/main\n", "word", 1),
    ("source", "scripts/a.txt", "from py" + "pi.org\n", "word", 1),
    ("pages", "docs/a.md", "\nread `src/num/none.c`\n", "page-path", 2),
    ("pages", "docs/a.md", "read [that](none.md)\n", "page-link", 1),
    ("pages", "src/num/a.c", "\n// see isa.md §23\n", "page-section", 2),
    ("pages", "src/num/a.c", "// as docs/none.md says\n", "page-named", 1),
    ("pages", "docs/unlinked.md", "# Nobody links this\n", "page-index", 1),
    ("headers", "src/num/a.h", C + "#pragma once\nsize_t f(void);\n", "header-alone", 3),
    ("headers", "include/glia/a.h", C + "#pragma once\nint new(int class);\n", "header-c++", 3),
]


def lint(name, files):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = pathlib.Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        answer = subprocess.run([sys.executable, str(HERE / f"{name}.py"), "--root", folder], capture_output=True, text=True)
        return answer.returncode, answer.stdout + answer.stderr


def main():
    failed = 0
    for name in ("layers", "source", "headers", "pages"):
        code, text = lint(name, GOOD)
        if code != 0:
            failed += 1
            print(f"{name}: a good tree has findings:\n{text}")
    for name, path, text, rule, line in BAD:
        code, output = lint(name, {**GOOD, path: text})
        if code != 1 or f"{path}:{line}: [{rule}]" not in output:
            failed += 1
            print(f"{name}: '{path}:{line}' [{rule}] is not found (exit {code}):\n{output}")
    trees = len(BAD) + 4
    print(f"{trees - failed} of {trees} trees judged right")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
