"""Fails when a build registers fewer tests than tests/expected-count.txt states for it.

A test that is no longer registered (a missing folder, a condition in a CMakeLists.txt) would
otherwise be skipped without a word.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path


def expected_counts(path: Path) -> dict[str, int]:
    """Minimum of each build, from lines of "build minimum"; # starts a comment."""
    counts = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not words[1].isdigit():
            sys.exit(f"{path}:{number}: '{line}' is not of the form: BUILD MINIMUM")
        counts[words[0]] = int(words[1])
    return counts


def registered_tests(ctest: str, directory: Path) -> list[str]:
    """Names of all tests of the build below directory."""
    command = [ctest, "--test-dir", str(directory), "--show-only=json-v1"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [test["name"] for test in json.loads(listing)["tests"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ctest", required=True, help="the ctest to ask")
    parser.add_argument("--build", required=True, help="name of the build: release, asan, ...")
    parser.add_argument("--directory", required=True, type=Path, help="its build folder")
    parser.add_argument("--expected", required=True, type=Path, help="expected-count.txt")
    arguments = parser.parse_args()
    counts = expected_counts(arguments.expected)
    if arguments.build not in counts:
        print(f"{arguments.expected} states no count for the build '{arguments.build}'")
        return 1
    names = registered_tests(arguments.ctest, arguments.directory)
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        print("names given twice:", ", ".join(sorted(twice)))
        return 1
    minimum = counts[arguments.build]
    print(f"{len(names)} tests registered, {minimum} expected")
    if len(names) < minimum:
        print("tests are missing: find out why, or lower the count where that is right")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
