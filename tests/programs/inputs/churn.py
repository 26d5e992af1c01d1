"""Threads that exchange objects through queues; prints sums that depend on the seeds alone."""

import hashlib
import json
import queue
import random
import re
import threading
import zlib


def produce(seed, out):
    rng = random.Random(seed)
    for number in range(4000):
        record = {"id": number, "text": "x" * rng.randrange(400),
                  "list": [rng.random() for _ in range(rng.randrange(30))]}
        out.put(json.dumps(record).encode())
    out.put(None)


def consume(source, results, index):
    total, kept = 0, [None] * 64
    for number, data in enumerate(iter(source.get, None)):
        record = json.loads(data)
        kept[number % 64] = zlib.compress(data) * (number % 5)
        total += len(record["text"]) + len(re.findall(rb"\d+", data)) + len(bytearray(number * 8))
    results[index] = total, sum(len(item or b"") for item in kept)


def main():
    results = {}
    threads = []
    for index in range(4):
        channel = queue.Queue(64)
        threads.append(threading.Thread(target=produce, args=(index, channel)))
        threads.append(threading.Thread(target=consume, args=(channel, results, index)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sorted(results.items()))
    table = {str(n): [n, str(n * n)] for n in range(200_000)}
    for n in range(0, 200_000, 3):
        del table[str(n)]
    print(len(table), hashlib.sha256(repr(table).encode()).hexdigest())


main()
