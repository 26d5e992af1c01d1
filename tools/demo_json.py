"""Reads and writes a JSON document over and over: the program that `make demo` runs.

An interpreter under a parser makes many small, short-lived objects and a few large strings, which is
what most programs ask of an allocator.
"""

import json
import random

ROUNDS = 4
RECORDS = 4_000


def record(source: random.Random, number: int) -> dict[str, object]:
    words = ["".join(source.choices("abcdefghijklmnopqrstuvwxyz", k=source.randint(3, 40)))
             for _ in range(source.randint(1, 12))]
    return {"id": number, "words": words, "score": source.random(),
            "points": [[source.randint(0, 999), source.random()] for _ in words]}


def main() -> None:
    source = random.Random(1)
    document = [record(source, number) for number in range(RECORDS)]
    for _ in range(ROUNDS):
        text = json.dumps(document, indent=1)
        document = json.loads(text)
        document.sort(key=lambda row: row["score"])
    print(len(text))


if __name__ == "__main__":
    main()
