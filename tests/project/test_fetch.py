#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/fetch-model makes of pip's failures: only an unreachable registry is 77, which tests take for a skip. The
scripts run in a copy of the tree's scripts/, with a pip and a df that say what a case wants. scripts/waiting shows a line
on a terminal, and none without."""
import os
import pathlib
import pty
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NONE = "ERROR: Could not find a version that satisfies the requirement x (from versions: none)"


def program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n")
    path.chmod(0o755)


class Fetch(unittest.TestCase):
    def fetch(self, pip, df="exec /bin/df \"$@\""):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder)
            shutil.copytree(ROOT / "scripts", tree / "scripts")
            program(tree / "build/venv/bin/pip", pip)
            program(tree / "bin/df", df)
            env = {**os.environ, "PATH": f"{tree}/bin:{os.environ['PATH']}", "GLIA_MODELS": str(tree / "models"), "CI": "1"}
            done = subprocess.run([tree / "scripts/fetch-model"], env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            self.assertEqual(done.stdout, "")
            return done.returncode, done.stderr

    def test_a_registry_that_cannot_be_reached_is_77(self):
        code, said = self.fetch(f"echo '{NONE}'; exit 1")
        self.assertEqual(code, 77, said)
        self.assertIn("did not serve part 1", said)

    def test_a_full_disk_says_so(self):
        code, said = self.fetch("echo 'ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device'; exit 1")
        self.assertEqual(code, 6, said)
        self.assertIn("the disk is full", said)
        code, said = self.fetch("exit 0", df="echo head; echo 'x 1 1 102400 1 /'")
        self.assertEqual(code, 6, said)
        self.assertIn("has 100 MB free; 800 MB are needed", said)
        self.assertIn("hint: GLIA_MODELS", said)

    def test_another_failure_keeps_its_own_cause(self):
        code, said = self.fetch("echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES'; exit 1")
        self.assertEqual(code, 1, said)
        self.assertIn("DO NOT MATCH THE HASHES", said)
        code, said = self.fetch("exit 0")      # served, but no wheel is there
        self.assertEqual(code, 1, said)
        self.assertIn("hold 0 parts, 4 are needed", said)


class Waiting(unittest.TestCase):
    def test_a_terminal_sees_for_how_long_and_the_exit_code_is_the_commands(self):
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.pop("CI", None)
            os.execv("/bin/bash", ["bash", str(ROOT / "scripts/waiting"), "a long step", "/proc/self/fd", "bash", "-c", "sleep 2.5; exit 7"])
        seen = b""
        while True:
            try:
                piece = os.read(fd, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 7)
        self.assertIn(b"a long step, 1 s", seen)

    def test_without_a_terminal_nothing_is_said(self):
        done = subprocess.run([ROOT / "scripts/waiting", "a step", "/tmp", "echo", "x"], capture_output=True, text=True,
                              start_new_session=True, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "x\n", ""))


if __name__ == "__main__":
    unittest.main()
