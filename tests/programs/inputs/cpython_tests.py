"""Runs CPython's own tests in this process, after saying where its memory comes from.

Usage: cpython_tests.py REPORT MODULE...; writes to REPORT, a line each: Python's allocator, the
name of the mapping that a fresh block is in, and the files that are mapped into this process.
"""

import ctypes
import os
import sys

import _testcapi
from test import libregrtest


def mappings():
    """Returns (low, high, name) of every mapping of this process."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split(maxsplit=5)
            low, high = (int(text, 16) for text in fields[0].split("-"))
            yield low, high, fields[5].rstrip("\n") if len(fields) > 5 else "anonymous"


def main():
    allocate = ctypes.pythonapi.PyMem_RawMalloc
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    block = allocate(100)
    table = list(mappings())
    place = [name for low, high, name in table if low <= block < high]
    files = sorted({os.path.realpath(name) for _, _, name in table if name.startswith("/")})
    with open(sys.argv[1], "w") as report:
        report.write("\n".join([_testcapi.pymem_getallocatorsname(), *place, *files]))
    libregrtest.main(sys.argv[2:], verbose=True)


if __name__ == "__main__":
    main()
