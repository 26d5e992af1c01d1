"""Names on the command line, the table of peers, and the guard of their checksums."""

import re

import pytest
from click.testing import CliRunner

from hakmem_lab import cli, peers, recipes
from hakmem_lab.allocators import resolve, resolve_all
from hakmem_lab.errors import LabError

REQUIRED = {"title", "source", "package", "version", "sha256", "recipe", "library"}


def test_a_library_by_name_and_by_path(places):
    named = resolve(f"mine={places.nothing}", places)[0]
    by_path = resolve(str(places.nothing), places)[0]
    assert (named.name, by_path.name) == ("mine", "nothing")
    assert named.preload == by_path.preload == (places.nothing,)
    assert re.fullmatch("[0-9a-f]{64}", named.description()["libraries"][str(places.nothing)])


def test_glibc_preloads_nothing(places):
    assert resolve("glibc", places)[0].preload_value == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mimaloc", '"mimaloc" is no allocator; accepted are hakmem, nothing, glibc, peers'),
        ("mine=/no/such/lib.so", "/no/such/lib.so is no file"),
        ("/no/such/lib.so", "/no/such/lib.so is no file"),
    ],
)
def test_unknown_names_say_what_is_accepted(places, text, said):
    with pytest.raises(LabError, match=said):
        resolve(text, places)


def test_two_libraries_of_one_name_are_refused(places, tmp_path):
    other = tmp_path / "libnothing.so"
    other.touch()
    with pytest.raises(LabError, match='two libraries are called "nothing"'):
        resolve_all(["nothing", str(other)], places)


def test_names_given_twice_count_once(places):
    assert [row.name for row in resolve_all(["glibc", "nothing", "glibc"], places)] == [
        "glibc", "nothing",
    ]  # fmt: skip


def test_paths_that_ld_preload_cannot_express_are_refused(places, tmp_path):
    library = tmp_path / "with space.so"
    library.touch()
    with pytest.raises(LabError, match="colon or a space"):
        resolve(f"x={library}", places)


@pytest.mark.parametrize("peer", peers.all_peers().values(), ids=lambda peer: peer.name)
def test_every_peer_is_pinned(peer):
    assert peer.row.keys() >= REQUIRED
    assert re.fullmatch("[0-9a-f]{64}", peer.row["sha256"])
    assert peer.row["recipe"] in recipes.RECIPES
    assert peer.row.get("count_by", "callgrind") in {"callgrind", "steps"}
    assert (peer.row["source"] == "deb") == ("architecture" in peer.row)


def test_the_issue_names_these_peers():
    assert peers.all_peers().keys() >= {
        "mimalloc3", "mimalloc2", "snmalloc", "jemalloc", "tcmalloc", "gperftools", "tbbmalloc",
    }  # fmt: skip


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("HAKMEM_PEERS_DIR", raising=False)
    assert peers.cache_folder() == tmp_path / "hakmem" / "peers"
    monkeypatch.setenv("HAKMEM_PEERS_DIR", str(tmp_path / "own"))
    assert peers.cache_folder() == tmp_path / "own"


def test_a_changed_pin_or_flag_is_another_build():
    peer = peers.find_peer("mimalloc3")
    changed = peers.Peer(peer.name, peer.row | {"arguments": ["-DOTHER=ON"]})
    renamed = peers.Peer(peer.name, peer.row | {"title": "other", "environment": {"A": "b"}})
    assert changed.digest != peer.digest
    assert renamed.digest == peer.digest


def test_a_package_with_another_checksum_is_refused(monkeypatch, tmp_path):
    package = tmp_path / "package.crate"
    package.write_bytes(b"not what was pinned")
    monkeypatch.setenv("HAKMEM_PEERS_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(peers, "fetch_crate", lambda row, work: package)
    with pytest.raises(LabError, match=r"has sha256 .* is pinned"):
        peers.build(peers.find_peer("snmalloc"), 1)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_peer_that_is_not_built_says_how_to_build_it(monkeypatch, places, tmp_path):
    monkeypatch.setenv("HAKMEM_PEERS_DIR", str(tmp_path))
    with pytest.raises(LabError, match=r"is not built; run: .*peers install jemalloc"):
        resolve("jemalloc", places)
    assert [row.name for row in resolve("peers", places)] == ["glibc"]


def test_command_line_errors_are_one_line_with_a_status(places, tmp_path):
    build = ["--build", str(places.build)]
    unknown = CliRunner().invoke(cli.main, ["measure", "-a", "odd", "-c", "true", *build])
    assert (unknown.exit_code, len(unknown.output.splitlines())) == (1, 1)
    usage = CliRunner().invoke(cli.main, ["measure", "--runs", "0", "-c", "true", *build])
    assert usage.exit_code == 2
    nowhere = ["measure", "-a", "nothing", "-c", "true", "--build", str(tmp_path)]
    missing = CliRunner().invoke(cli.main, nowhere)
    assert missing.exit_code == 1
    assert "is missing; build it" in missing.output


def test_measure_from_end_to_end(places, tmp_path):
    raw = tmp_path / "raw.json"
    arguments = ["measure", "-a", "glibc", "-a", "nothing", "-c", "bench_pair 20000", "--runs", "2"]
    arguments += [
        "--repeats",
        "0",
        "--base",
        "best",
        "--raw",
        str(raw),
        "--build",
        str(places.build),
    ]
    done = CliRunner().invoke(cli.main, arguments)
    assert done.exit_code == 0, done.output
    assert "95 % interval" in done.output
    assert raw.read_text().count('"counts": true') == 4
