"""redis-server, built with MALLOC=libc, under redis-benchmark: its data set stays what it was."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harness import PREFIX, Bench
from programs.text_sources import redis_commands

STRUCTURES = """
for i = 1, 2000 do
    redis.call('rpush', 'list:' .. i % 50, 'item' .. i, string.rep('x', i % 300))
    redis.call('hset', 'hash:' .. i % 50, 'field' .. i, i * 7919)
    redis.call('hset', 'hash:' .. i % 50, 'again' .. i, string.rep('h', i % 90))
    redis.call('zadd', 'zset:' .. i % 50, i * 31 % 1009, 'member' .. i)
    redis.call('sadd', 'set:' .. i % 50, i, 'word' .. i)
    redis.call('xadd', 'stream:' .. i % 50, i .. '-1', 'k', string.rep('s', i % 40))
    redis.call('append', 'string:' .. i % 50, 'piece' .. i)
    redis.call('setbit', 'bits:' .. i % 50, i * 13, 1)
    if i % 3 == 0 then redis.call('lpop', 'list:' .. i % 50) end
    if i % 4 == 0 then redis.call('hdel', 'hash:' .. i % 50, 'field' .. i) end
    if i % 5 == 0 then redis.call('zremrangebyrank', 'zset:' .. i % 50, 0, 0) end
end
return redis.call('dbsize')
"""


# Relative to the server's folder, for the path of a socket may have 107 bytes at most.
SOCKET = "socket"


class Server:
    """A redis-server on a socket of its own; cli() and benchmark() talk to it."""

    def __init__(self, bench: Bench, redis: Path, name: str, proof: Path | None) -> None:
        self.redis, self.folder, self.bench, self.proof = redis, bench.folder / name, bench, proof
        self.folder.mkdir()
        self.process = subprocess.Popen(
            [redis / "redis-server", "--port", "0", "--unixsocket", SOCKET, "--save", "",
             "--logfile", "log", "--io-threads", "2", "--enable-debug-command", "yes"],
            cwd=self.folder, env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def environment(self) -> dict[str, str]:
        return self.bench.environment(self.folder, preload=self.proof is not None, proof=self.proof)

    def call(self, *argv: str | Path, stdin: bytes = b"") -> str:
        done = subprocess.run([str(word) for word in argv], input=stdin, capture_output=True,
                              cwd=self.folder, env=self.environment(), timeout=900)
        complaint = [line for line in done.stderr.splitlines() if not line.startswith(PREFIX)]
        assert done.returncode == 0 and not complaint, (done.stdout, done.stderr)
        return done.stdout.decode().strip()

    def cli(self, *words: str, stdin: bytes = b"") -> str:
        return self.call(self.redis / "redis-cli", "-s", SOCKET, *words, stdin=stdin)

    def benchmark(self, *words: str) -> str:
        return self.call(self.redis / "redis-benchmark", "-s", SOCKET, *words)

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + 20
        while not (self.folder / SOCKET).exists() and self.process.poll() is None:
            assert time.monotonic() < deadline, "redis-server opens no socket"
            time.sleep(0.05)
        assert self.process.poll() is None, (self.folder / "log").read_text()
        assert self.cli("ping") == "PONG"

    def maps(self) -> str:
        return Path(f"/proc/{self.process.pid}/maps").read_text()


@contextmanager
def running(bench: Bench, redis: Path, name: str, proof: Path | None) -> Iterator[Server]:
    server = Server(bench, redis, name, proof)
    try:
        server.wait_until_ready()
        yield server
    finally:
        server.process.kill()
        server.process.communicate()


def exercise(server: Server, keys: int, requests: int) -> list[str]:
    """Fills, measures and checks the server; returns what must not depend on the allocator."""
    seen = ["errors: 0" in server.cli("--pipe", stdin=b"".join(redis_commands(keys)))]
    seen.append(server.cli("eval", STRUCTURES, "0"))
    before = server.cli("debug", "digest")
    seen.append(before)
    server.benchmark("-n", str(requests), "-P", "16", "-c", "20", "-d", "100", "-r", "5000", "-q",
                     "--threads", "2", "-t",
                     "set,get,incr,lpush,rpush,lpop,rpop,sadd,hset,spop,zadd,zpopmin,lrange_100,mset")
    after = server.cli("debug", "digest")
    assert after != before, "redis-benchmark changed nothing"
    assert server.cli("debug", "reload") == "OK"
    assert server.cli("debug", "digest") == after, "data set differs after a save and a load"
    server.cli("bgsave")
    deadline = time.monotonic() + 60
    while "rdb_bgsave_in_progress:0" not in server.cli("info", "persistence"):
        assert time.monotonic() < deadline, "the forked save does not end"
        time.sleep(0.1)
    assert "rdb_last_bgsave_status:ok" in server.cli("info", "persistence")
    assert "mem_allocator:libc" in server.cli("info", "memory")
    seen.append(server.cli("flushall"))
    seen.append(server.cli("debug", "digest"))
    return seen


@pytest.mark.parametrize(("keys", "requests"), [
    (20_000, 20_000),
    pytest.param(500_000, 100_000, marks=pytest.mark.long),
])
def test_redis(bench: Bench, redis: Path, keys: int, requests: int) -> None:
    proof = bench.folder / "proof"
    proof.mkdir()

    def session(name: str, proof: Path | None) -> tuple[list[str], bytes]:
        with running(bench, redis, name, proof) as server:
            assert (str(bench.library) in server.maps()) == (proof is not None)
            seen = exercise(server, keys, requests)
            server.cli("shutdown", "nosave")
            _, complaint = server.process.communicate(timeout=60)
            assert server.process.returncode == 0, complaint
        return seen, complaint

    # One after the other: the server's second I/O thread spins, and so do redis-benchmark's.
    plain, preloaded = session("plain", None), session("preloaded", proof)
    assert plain[0][0] is True
    assert preloaded[0] == plain[0]
    assert plain[1] == b""
    lines = preloaded[1].splitlines()
    assert all(line.startswith(PREFIX) for line in lines), preloaded[1]
    if bench.is_hakmem:
        bench.prove_served(lines)
    bench.prove(proof, ["redis-server", "redis-cli", "redis-benchmark"])
