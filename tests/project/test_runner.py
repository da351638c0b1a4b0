#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run on a build of made-up programs: what it counts, what it shows, and that nothing is lost."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """#!{python}
import sys
tests = {tests}
if "--list" in sys.argv:
    print("\\n".join(tests))
    sys.exit(0)
only = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else None
bad = 0
for name, line in tests.items():
    if only and only not in (name, name.split(".")[0]):
        continue
    if line == "die":
        sys.exit(3)
    for text in line.split("|"):
        print(text.replace("@", name), flush=True)
    bad += line.split("|")[-1].startswith("FAIL")
print("0 passed, 0 failed, 0 skipped")
sys.exit(1 if bad else {extra})
"""


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.build = pathlib.Path(self.folder.name)
        self.rows = []

    def tearDown(self):
        self.folder.cleanup()

    def program(self, name, tests, extra=0):
        path = self.build / f"test_{name}"
        path.write_text(PROGRAM.format(python=sys.executable, tests=repr(tests), extra=extra))
        path.chmod(0o755)
        self.rows.append(f'add_test({name} "{path}")')

    def script(self, name, body, properties=""):
        path = self.build / f"{name}.sh"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        self.rows.append(f'add_test({name} "{path}")')
        if properties:
            self.rows.append(f"set_tests_properties({name} PROPERTIES {properties})")

    def run_it(self, *arguments):
        (self.build / "CTestTestfile.cmake").write_text("\n".join(self.rows) + "\n")
        answer = subprocess.run([sys.executable, str(ROOT / "tests" / "run"), "--build-dir", str(self.build), *arguments],
                                capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return answer.returncode, answer.stdout + answer.stderr

    def last(self, text):
        return text.rstrip().splitlines()[-1]

    def test_all_kinds_are_counted(self):
        self.program("a", {"g.one": "ok @", "g.two": "skip @: python registry", "h.three": "file.c:3: got 1, want 2|FAIL @"})
        self.script("s", "exit 0")
        code, text = self.run_it()
        self.assertEqual(code, 1)
        self.assertEqual(self.last(text), "2 passed, 1 failed, 1 skipped")
        self.assertIn("FAIL test_a:h.three", text)
        self.assertIn("    file.c:3: got 1, want 2", text)
        self.assertIn("skip test_a:g.two: python registry", text)
        rows = dict(line.split("\t")[:2] for line in (self.build / "test-results.tsv").read_text().splitlines())
        self.assertEqual(rows, {"test_a:g.one": "passed", "test_a:g.two": "skipped", "test_a:h.three": "failed",
                                "script:s": "passed"})

    def test_success_is_exit_code_zero(self):
        self.program("a", {"g.one": "ok @"})
        code, text = self.run_it()
        self.assertEqual((code, self.last(text)), (0, "1 passed, 0 failed, 0 skipped"))

    def test_a_program_that_dies_fails_what_had_no_line(self):
        self.program("a", {"g.one": "ok @", "g.two": "die", "g.three": "ok @"})
        code, text = self.run_it()
        self.assertEqual((code, self.last(text)), (1, "1 passed, 2 failed, 0 skipped"))
        self.assertIn("the program has no line for it: exit code 3", text)

    def test_a_bad_exit_after_good_tests_is_a_failure(self):
        self.program("a", {"g.one": "ok @"}, extra=23)
        code, text = self.run_it()
        self.assertEqual((code, self.last(text)), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("FAIL test_a:exit", text)

    def test_a_skip_needs_a_good_reason(self):
        self.program("a", {"g.one": "skip @: it is late"})
        self.script("s", "echo skip: too slow; exit 77")
        code, text = self.run_it()
        self.assertEqual((code, self.last(text)), (1, "0 passed, 2 failed, 0 skipped"))
        self.assertIn("not allowed: it is late", text)

    def test_a_script_may_skip_for_the_registry(self):
        self.script("s", "echo 'skip: the Python registry is not there'; exit 77", "SKIP_RETURN_CODE 77")
        self.assertEqual(self.last(self.run_it()[1]), "0 passed, 0 failed, 1 skipped")

    def test_what_hangs_is_ended(self):
        self.script("s", "sleep 60", "TIMEOUT 1")
        code, text = self.run_it()
        self.assertEqual((code, self.last(text)), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("not done after 1 s", text)

    def test_only_chooses_programs_groups_tests_and_scripts(self):
        self.program("a", {"g.one": "ok @", "g.two": "ok @", "h.three": "FAIL @"})
        self.script("s", "exit 1")
        for pattern, want in (("test_a:g.*", "2 passed, 0 failed, 0 skipped"), ("*.one", "1 passed, 0 failed, 0 skipped"),
                              ("script:*", "0 passed, 1 failed, 0 skipped")):
            self.assertEqual(self.last(self.run_it("--only", pattern)[1]), want)
        code, text = self.run_it("--only", "none")
        self.assertEqual(code, 2)
        self.assertIn("no test of", text)

    def test_what_was_not_built_is_a_failure(self):
        self.program("a", {"g.one": "ok @"})
        self.rows.append(f'add_test(gone "{self.build}/test_gone")')
        code, text = self.run_it()
        self.assertEqual((code, self.last(text)), (1, "1 passed, 1 failed, 0 skipped"))
        self.assertIn("script:gone", text)


if __name__ == "__main__":
    unittest.main()
