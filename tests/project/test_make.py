#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Makefile's words: each installs and builds first, by the scripts of scripts/; `clean` keeps what was downloaded."""
import pathlib
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def plan(*words):
    answer = subprocess.run(["make", "--no-print-directory", "-n", *words], cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.splitlines()


class Make(unittest.TestCase):
    def test_words_install_build_and_run(self):
        for word, script in (("test", "scripts/test"), ("bench", "bench/run")):
            self.assertEqual(plan(word), ["scripts/bootstrap", "scripts/build release", script])
        self.assertEqual(plan("demo"), ["scripts/bootstrap", "scripts/build release glia tiny_model example_rounding nrt_client", "scripts/demo"])
        self.assertEqual(plan(), ["scripts/bootstrap", "scripts/build release"])
        self.assertEqual(plan("install", "PREFIX=/opt/glia"),
                         ["scripts/bootstrap", "scripts/build release", 'cmake --install build/release --prefix "/opt/glia"'])
        self.assertEqual(plan("build", "PRESET=asan"), ["scripts/bootstrap", "scripts/build asan"])

    def test_clean_keeps_downloads(self):
        line, = plan("clean")
        self.assertTrue(line.startswith("rm -rf build/release "), line)
        self.assertNotIn("models", line)
        self.assertNotIn("venv", line)

    def test_scripts_can_be_run(self):
        for script in ("bootstrap", "build", "demo", "fetch-model", "test", "venv", "waiting"):
            self.assertTrue((ROOT / "scripts" / script).stat().st_mode & 0o100, script)
            self.assertEqual(subprocess.run(["bash", "-n", str(ROOT / "scripts" / script)]).returncode, 0, script)


if __name__ == "__main__":
    unittest.main()
