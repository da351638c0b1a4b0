#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/parts.py: a row whose test is missing or failed is a problem, a skipped one is not, an open one is counted."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import parts

RESULTS = {"test_a:x.good": ("passed", 0.1, ""), "test_a:x.bad": ("failed", 0.1, "why"),
           "script:s": ("skipped", 0.0, "python registry")}


def check(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "parts.tsv"
        path.write_text(text)
        return parts.check(path, RESULTS)


class Parts(unittest.TestCase):
    def test_rows_that_hold(self):
        problems, note = check("# head\n1-a\ttest_a:x.good\n1-a\tscript:s\n")
        self.assertEqual(problems, [])
        self.assertIn("1 items have tests, 0 are open", note)

    def test_a_missing_test_is_named(self):
        problems, _ = check("1-a\ttest_a:x.gone\n")
        self.assertEqual(len(problems), 1)
        self.assertIn("parts.tsv:1: '1-a' names 'test_a:x.gone', which no run has", problems[0])

    def test_a_failed_test_is_named(self):
        problems, _ = check("1-a\ttest_a:x.bad\n")
        self.assertIn("rests on 'test_a:x.bad', which failed", problems[0])

    def test_open_rows_are_printed_and_counted(self):
        problems, note = check("1-a\ttest_a:x.good\n# open\n2-b\tnobody wrote it\n")
        self.assertEqual(problems, [])
        self.assertIn("open 2-b: nobody wrote it", note)
        self.assertIn("1 are open", note)

    def test_open_with_a_test_is_a_problem(self):
        problems, _ = check("1-a\ttest_a:x.good\n# open\n1-a\tmissing\n")
        self.assertIn("has a test and is open", problems[0])

    def test_malformed_and_double_rows_are_problems(self):
        self.assertIn("a row is", check("1-a test_a:x.good\n")[0][0])
        self.assertIn("twice", check("1-a\tscript:s\n1-a\tscript:s\n")[0][0])


if __name__ == "__main__":
    unittest.main()
