# SPDX-License-Identifier: Apache-2.0
"""What the script tests of this folder share: skipping (exit code 77, with the reason) when a package is absent."""
import importlib
import sys


def skip(reason):
    print(f"skip: {reason}")
    sys.exit(77)


def skip_without(*names):
    modules = []
    for name in names:
        try:
            modules.append(importlib.import_module(name))
        except ImportError:
            skip(f"the Python registry's package '{name.split('.')[0]}' is not installed")
    return modules
