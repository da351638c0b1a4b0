#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/bootstrap on machines that lack something: a PATH is made of links to all tools but some, with an `apt-get`, an
`id` and a `sudo` that only write down how they were called. Nothing is installed."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the script itself calls, and what it looks for.
TOOLS = "bash env sh uname id cat dirname gcc g++ make git cmake ninja python3 clang llvm-symbolizer".split()


class Bootstrap(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.bin = pathlib.Path(self.folder.name)
        for tool in TOOLS:
            found = shutil.which(tool)
            if found:
                (self.bin / tool).symlink_to(found)
        self.log = self.bin / "log"

    def tearDown(self):
        self.folder.cleanup()

    def stub(self, name, body):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run_it(self):
        answer = subprocess.run(["/bin/bash", str(ROOT / "scripts" / "bootstrap")], capture_output=True, text=True,
                                env={"PATH": str(self.bin)}, stdin=subprocess.DEVNULL)
        return answer.returncode, answer.stdout + answer.stderr

    def called(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def without(self, tool, user):
        (self.bin / tool).unlink()
        self.stub("apt-get", f'echo "apt-get $*" >> {self.log}')
        self.stub("id", f"case $1 in -u) echo {user};; *) echo somebody;; esac")

    def test_a_complete_machine_needs_neither_root_nor_apt(self):
        self.stub("apt-get", f'echo "apt-get $*" >> {self.log}')
        self.stub("id", "echo 1000")
        self.assertEqual(self.run_it(), (0, "bootstrap: nothing is missing\n"))
        self.assertEqual(self.called(), [])

    def test_root_installs_what_is_missing_and_no_more(self):
        self.without("ninja", 0)
        code, text = self.run_it()
        self.assertEqual(code, 0, text)
        self.assertEqual(self.called(), ["apt-get update -qq", "apt-get install -y -qq --no-install-recommends ninja-build"])
        self.assertIn("bootstrap: installed ninja-build", text)

    def test_others_go_through_sudo(self):
        self.without("cmake", 1000)
        self.stub("sudo", f'echo "sudo" >> {self.log}; exec "$@"')
        code, text = self.run_it()
        self.assertEqual(code, 0, text)
        self.assertEqual(self.called()[-2:], ["sudo", "apt-get install -y -qq --no-install-recommends cmake"])

    def test_neither_root_nor_sudo_is_an_error_that_says_what_root_must_run(self):
        self.without("git", 1000)
        code, text = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("user 'somebody' is not root and has no sudo", text)
        self.assertIn("hint: have root run: apt-get install --no-install-recommends git", text)
        self.assertEqual(self.called(), [])

    def test_what_apt_cannot_install_is_an_error(self):
        self.without("make", 0)
        self.stub("apt-get", "exit 100")
        code, text = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("could not install: make", text)

    def test_another_distribution_gets_the_list(self):
        (self.bin / "ninja").unlink()
        code, text = self.run_it()
        self.assertEqual(code, 1)
        self.assertIn("missing Debian packages: ninja-build", text)
        self.assertIn("this is not Debian", text)

    def test_an_unknown_option_is_refused(self):
        answer = subprocess.run([str(ROOT / "scripts" / "bootstrap"), "--no"], capture_output=True, text=True)
        self.assertEqual(answer.returncode, 2)


if __name__ == "__main__":
    os.environ.pop("LANGUAGE", None)
    unittest.main()
