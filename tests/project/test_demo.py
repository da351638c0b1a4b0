#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/demo after a build: with the checkpoint, and on a machine whose Python registry does not answer. Each must end in
text and in the predicted figures of all three generations. GLIA_BUILD_DIR names the build (build/release unless set)."""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPT = "The capital of France is"
FIGURES = re.compile(r"^simulated  (trn[123])[\w.-]*, LNC [12]: TTFT [0-9.]+ ms, TPOT [0-9.]+ ms", re.MULTILINE)
COST = re.compile(r"^ +\$[0-9.]+ per million tokens", re.MULTILINE)
# Nobody listens at the discard port of this machine, and pip is told to keep nothing and to look nowhere else.
NO_REGISTRY = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull, "PIP_NO_CACHE_DIR": "1",
               "PIP_FIND_LINKS": ROOT.joinpath("LICENSE").as_uri(), "PIP_DEFAULT_TIMEOUT": "2"}


def demo(**env):
    answer = subprocess.run([str(ROOT / "scripts" / "demo")], capture_output=True, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, env={**os.environ, **env}, timeout=600)
    return answer.returncode, answer.stdout, answer.stderr


class Demo(unittest.TestCase):
    def check(self, code, out, err):
        self.assertEqual(code, 0, out + err)
        self.assertEqual(set(FIGURES.findall(out)), {"trn1", "trn2", "trn3"}, out)
        self.assertEqual(len(COST.findall(out)), 3, out)
        said = out.split("\n" + PROMPT, 1)
        self.assertEqual(len(said), 2, out)
        return said[1].split("\nstopped", 1)[0].strip()

    @unittest.skipUnless(os.environ.get("GLIA_GEMMA_GGUF"), "the checkpoint is not here")
    def test_the_checkpoint_says_something_in_english(self):
        code, out, err = demo()
        text = self.check(code, out, err)
        self.assertIn("Gemma Terms of Use", out)
        self.assertGreater(len(re.findall(r"\b(the|is|of|a|in|and|to)\b", text, re.IGNORECASE)), 5, text)

    def test_without_the_registry_a_small_model_stands_in(self):
        with tempfile.TemporaryDirectory() as models:
            code, out, err = demo(GLIA_MODELS=models, **NO_REGISTRY)
        self.check(code, out, err)
        self.assertIn("The Python registry cannot be reached", out)
        self.assertIn("did not serve part 1", err)
        self.assertNotIn("Gemma Terms of Use", out)


if __name__ == "__main__":
    unittest.main()
