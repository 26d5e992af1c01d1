"""Runs one misuse program and holds its end against what is expected.

The program must die by SIGABRT with exactly one line on stderr:

    hakmem: PHRASE 0x... DETAIL, called from PROGRAM+0x... (FUNCTION+0x...)

where the pointer is the one that the program announced on stdout. What was found later than at the
faulty call may lack the caller, for whoever is running then is not at fault.
"""

import argparse
import os
import re
import signal
import subprocess
import sys

LINE = re.compile(
    r"hakmem: (?P<phrase>double free of|misaligned pointer|interior pointer|foreign pointer"
    r"|pointer not of this heap|pointer into a destroyed heap|use of the destroyed heap) "
    r"(?P<pointer>0x[0-9a-f]+)(?P<detail>[^,\n]*)"
    r"(?:, called from (?P<module>[^ +]+)(?:\+0x[0-9a-f]+)?"
    r"(?: \((?P<function>[^+)]+)\+0x[0-9a-f]+\))?)?\n"
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phrase", help="regular expression of the phrase in the message")
    parser.add_argument("--detail", help="regular expression found in the rest of the message")
    parser.add_argument("--module", help="file whose code must be named as the caller")
    parser.add_argument("--function", help="function that must be named as the caller")
    parser.add_argument("--at-once", action="store_true", help="the faulty call must not return")
    parser.add_argument("--silent", action="store_true", help="stderr must stay empty")
    parser.add_argument("--repeated", action="store_true", help="the line is on stdout as well")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def faults_of(arguments: argparse.Namespace, result: subprocess.CompletedProcess) -> list[str]:
    """What is not as expected, one sentence each."""
    faults = []
    if result.returncode != -signal.SIGABRT:
        faults.append(f"ended with {result.returncode}, not by SIGABRT")
    announced = re.search(r"^misuse of (0x[0-9a-f]+|\(nil\))$", result.stdout, re.MULTILINE)
    if announced is None:
        return [*faults, "announced no pointer"]
    if "not found" in result.stdout:
        faults.append("the misuse was never found")
    if arguments.at_once and "survived" in result.stdout:
        faults.append("the faulty call returned")
    if arguments.silent:
        if result.stderr:
            faults.append("stderr is not empty")
        return faults
    line = LINE.fullmatch(result.stderr)
    if line is None:
        return [*faults, "stderr is not the one line that was expected"]
    if not re.fullmatch(arguments.phrase, line["phrase"]):
        faults.append(f"the phrase is '{line['phrase']}'")
    if int(line["pointer"], 16) != int(announced[1], 16):
        faults.append(f"the pointer is not {announced[1]}")
    if arguments.detail and not re.search(arguments.detail, line["detail"]):
        faults.append(f"the detail '{line['detail']}' is not as expected")
    if arguments.module and line["module"] != arguments.module:
        faults.append(f"the caller is in '{line['module']}'")
    if arguments.function and line["function"] != arguments.function:
        faults.append(f"the caller is '{line['function']}'")
    if arguments.repeated and result.stderr not in result.stdout:
        faults.append("the line is not on stdout as well")
    return faults


def main() -> int:
    arguments = parse_arguments()
    environment = dict(os.environ)
    preload = environment.pop("MISUSE_PRELOAD", None)
    if preload:
        environment["LD_PRELOAD"] = preload
    result = subprocess.run(
        arguments.command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    faults = faults_of(arguments, result)
    if not faults:
        return 0
    print("not as expected:", " ".join(arguments.command))
    for fault in faults:
        print("  -", fault)
    print(f"stdout:\n{result.stdout}stderr:\n{result.stderr}", end="")
    return 1


if __name__ == "__main__":
    sys.exit(main())
