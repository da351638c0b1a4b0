#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts under a prefix is enough: glia runs from there, and a client of libnrt compiles, links and runs with
what is there alone. GLIA_BUILD_DIR names the build (build/release unless set)."""
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("GLIA_BUILD_DIR", "build/release")


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, stdin=subprocess.DEVNULL, **more)
    assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


class Install(unittest.TestCase):
    def test_a_prefix_is_complete(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder) / "prefix"
            run("cmake", "--install", BUILD, "--prefix", prefix)
            for name in ("bin/glia", "lib/libnrt.so", "lib/libnrt.so.1", "include/nrt/nrt.h", "include/glia/rt.h", "share/man/man1/glia.1",
                         "share/bash-completion/completions/glia"):
                self.assertTrue((prefix / name).exists(), name)
            self.assertIn("complete -o default -F _glia glia", (prefix / "share/bash-completion/completions/glia").read_text())
            neff, client = pathlib.Path(folder) / "l.neff", pathlib.Path(folder) / "client"
            env = {**os.environ, "NEURON_COMPILE_CACHE_URL": f"{folder}/cache"}
            run(prefix / "bin/glia", "compile", ROOT / "tests/ir/hlo/mlp.hlo.txt", "-o", neff, env=env)
            run("gcc", ROOT / "examples/nrt_client/nrt_client.c", "-I", prefix / "include", "-L", prefix / "lib",
                f"-Wl,-rpath,{prefix}/lib", "-lnrt", "-o", client)
            self.assertIn("output.0: ", run(client, neff, env=env))


if __name__ == "__main__":
    unittest.main()
