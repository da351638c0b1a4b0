# SPDX-License-Identifier: Apache-2.0
"""Brings the libraries to compare with, by package name from the Python registry, newest first served; nothing of them
is kept in the tree. Two environments, since two oneDNN packages put their library in the same place:

    build/bench/venv        onednn (newest; its threads are TBB's, under SYCL), scipy-openblas32, llama-cpp-python (built
                            from source for this CPU: minutes, once)
    build/bench/venv-omp    onednn-cpu-gomp: the newest that comes with plain OpenMP threads

A package that cannot be had is a line in "missing", which the rows that need it show.
"""
import glob
import os
import pathlib
import subprocess
import sys

from measure import ROOT, WORK, output_of

LLAMA_CMAKE = "-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAVA_BUILD=OFF"


def install(run, venv, packages):
    """None, or why not."""
    pip = venv / "bin" / "pip"
    stamp = venv / ("stamp-" + packages[0])
    if stamp.exists() and not run.refresh:
        return None
    if not pip.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    print(f"bench: installing {' '.join(packages)}", file=sys.stderr)
    env = dict(os.environ, CMAKE_ARGS=os.environ.get("CMAKE_ARGS", LLAMA_CMAKE))
    done = subprocess.run([pip, "install", "--quiet", "--disable-pip-version-check", "--retries", "2", "--upgrade", *packages],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, env=env)
    if done.returncode != 0:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
        return f"'{packages[0]}' could not be installed: {last[0][:120] if last else 'pip failed'}"
    stamp.write_text("")
    return None


def shim(name, source, includes):
    """Compiles a shim of bench/matmul against the package's headers."""
    target = WORK / f"peer_{name}.so"
    flags = [f"-I{folder}" for folder in (ROOT / "bench" / "matmul", *includes)]
    output_of([os.environ.get("CC", "cc"), "-std=gnu17", "-O2", "-shared", "-fPIC", *flags, ROOT / "bench" / "matmul" / source,
               "-o", target, "-ldl"])
    return target


def first(pattern):
    found = sorted(glob.glob(str(pattern)))
    return pathlib.Path(found[0]) if found else None


def find_onednn(run, found):
    venv, plain = WORK / "venv", WORK / "venv-omp"
    why = install(run, venv, ["onednn", "onednn-devel"])
    if why:
        found["missing"]["oneDNN"] = why
        return
    found["onednn"].append((shim("onednn", "peer_onednn.c", [venv / "include"]), venv / "lib" / "libdnnl.so.3"))
    # The SYCL build finds its CPU device through this; its libraries lie beside it.
    found["environment"].update(OCL_ICD_FILENAMES=str(venv / "lib" / "libintelocl.so"), LD_LIBRARY_PATH=str(venv / "lib"))
    if not install(run, plain, ["onednn-cpu-gomp"]):
        found["onednn"].append((shim("onednn_omp", "peer_onednn.c", [venv / "include"]), plain / "lib" / "libdnnl.so.3"))


def find_openblas(run, found):
    venv = WORK / "venv"
    why = install(run, venv, ["scipy-openblas32"])
    library = first(venv / "lib" / "python*" / "site-packages" / "scipy_openblas32" / "lib" / "libscipy_openblas.so")
    if why or not library:
        found["missing"]["OpenBLAS"] = why or "its package has no libscipy_openblas.so"
        return
    found["openblas"].append((shim("openblas", "peer_openblas.c", []), library))


def find_llama(run, found):
    venv = WORK / "venv"
    why = install(run, venv, ["llama-cpp-python", "numpy"])
    if why:
        found["missing"]["llama.cpp"] = why
    else:
        found["llama"] = venv / "bin" / "python"


def find(run):
    found = {"onednn": [], "openblas": [], "llama": None, "missing": {}, "environment": {}}
    find_onednn(run, found)
    find_openblas(run, found)
    find_llama(run, found)
    return found
