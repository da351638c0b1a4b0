# SPDX-License-Identifier: Apache-2.0
"""(b) Gemma 3 270M against llama.cpp: a prefill of 512 tokens, and decode behind it, from one GGUF file whose weights
llama.cpp's own quantise call turned into BF16. Two processes take turns; flash attention and the physical batch size of
llama.cpp are those that it is fastest with here, tried beforehand for each of the two rows."""
import statistics
import subprocess
import sys
import time

from measure import ROOT, WORK, output_of, ratio_row, skipped_row

TARGET = 0.5
PAUSE = 0.01        # seconds before each turn: what the other side left spinning has gone to sleep


class Side:
    """A process that answers commands with seconds and the most likely next token."""

    def __init__(self, command, env):
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.version = self.read().removeprefix("ready ").strip()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"bench: {' '.join(map(str, self.process.args))} ended with code {self.process.wait()}")
        return line

    def ask(self, command):
        time.sleep(PAUSE)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        seconds, best = self.read().split()
        return float(seconds), int(best)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def model_file():
    """The checkpoint, or None and why not."""
    done = subprocess.run([ROOT / "scripts" / "fetch-model"], capture_output=True, text=True)
    if done.returncode == 0:
        path = ROOT / done.stdout.strip()
        return path, None
    return None, f"the checkpoint: {(done.stderr.strip().splitlines() or ['fetch-model failed'])[-1][:100]}"


def best_setting(peer, kind, tail, tries):
    """Flash attention and batch size that make this kind of step fastest."""
    settings = [(flash, ubatch) for flash in (0, 1) for ubatch in ((512, 256, 128) if kind == "prefill" else (512,))]
    seconds = {s: [] for s in settings}
    for _ in range(tries + 1):
        for flash, ubatch in settings:
            seconds[flash, ubatch].append(peer.ask(f"{kind} {flash} {ubatch}{tail}")[0])
    return min(settings, key=lambda s: statistics.median(seconds[s][1:]))       # the first run of each makes things


def pair(run, glia, peer, kind, tail, tokens, label):
    flash, ubatch = best_setting(peer, kind, tail, 1 if run.quick else 5)
    ours, theirs, same = [], [], True
    for turn in range(run.alternations + 1):
        for side in ((0, 1) if turn % 2 == 0 else (1, 0)):
            if side == 0:
                seconds, a = glia.ask(f"{kind}{tail}")
                ours.append(seconds)
            else:
                seconds, b = peer.ask(f"{kind} {flash} {ubatch}{tail}")
                theirs.append(seconds)
        same = same and a == b
        run.progress.report(f"(b) {label}", turn, run.alternations)
    setting = f"flash attention {'on' if flash else 'off'}, batch {ubatch}"
    return ratio_row("b", label, ours[1:], theirs[1:], TARGET, "token/s", lambda s: tokens / s, f"{peer.version.split(';')[0].strip('(')}), {setting}",
                     peer_version=peer.version, same_next_token=same)


def rows(run, found):
    labels = ["Gemma 3 270M bf16, prefill 512", "Gemma 3 270M bf16, decode"]
    model, why = (None, "--quick") if run.quick else model_file() if not run.no_peers else (None, "--no-peers")
    if not found["llama"] or not model:
        reason = f"llama.cpp: {found['missing']['llama.cpp']}" if not found["llama"] else why
        return [skipped_row("b", label, f">= {TARGET}x", reason) for label in labels]
    bf16 = WORK / "gemma-3-270m-bf16.gguf"
    worker = ROOT / "bench" / "model" / "llama_worker.py"
    env = run.environment()
    if not bf16.exists():
        output_of([found["llama"], worker, "bf16", model, bf16], env=env)
    glia = Side([run.bin / "model_bench", "turns", "--model", bf16, "--prefill", 512, "--context", 1024], env)
    peer = Side([found["llama"], worker, "turns", bf16, 512, 1024], env)
    tokens = 32
    out = [pair(run, glia, peer, "prefill", "", 512, labels[0]), pair(run, glia, peer, "decode", f" {tokens}", tokens, labels[1])]
    glia.close()
    peer.close()
    return out
