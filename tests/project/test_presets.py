#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CMakePresets.json: the five presets exist, build what their names say, and warnings are errors in each."""
import json
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRESETS = json.loads((ROOT / "CMakePresets.json").read_text())
WANTED = {
    "release": r"-O2",
    "asan": r"-fsanitize=address,undefined",
    "tsan": r"-fsanitize=thread",
    "fuzz": r"-fsanitize=fuzzer-no-link",
    "coverage": r"--coverage",
}


class Presets(unittest.TestCase):
    def test_each_exists_for_configure_and_build(self):
        configure = {p["name"] for p in PRESETS["configurePresets"] if not p.get("hidden")}
        self.assertEqual(configure, set(WANTED))
        self.assertEqual({p["configurePreset"] for p in PRESETS["buildPresets"]}, set(WANTED))

    def test_flags_are_those_of_the_name(self):
        for preset in PRESETS["configurePresets"]:
            if preset["name"] in WANTED:
                flags = " ".join(v for k, v in preset["cacheVariables"].items() if k.startswith("CMAKE_C_FLAGS"))
                self.assertIn(WANTED[preset["name"]], flags)
                self.assertNotEqual(preset["cacheVariables"].get("GLIA_WERROR"), "OFF")

    def test_warnings_are_errors_unless_asked(self):
        text = (ROOT / "CMakeLists.txt").read_text()
        self.assertRegex(text, r'option\(GLIA_WERROR "[^"]*" ON\)')
        self.assertTrue(re.search(r"-Wall -Wextra", text) and "-Werror" in text)
        self.assertIn("CMAKE_C_STANDARD 17", text)


if __name__ == "__main__":
    unittest.main()
