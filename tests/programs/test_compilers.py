"""Compilers and linkers: object files are the same, byte for byte."""

from __future__ import annotations

import pytest
from harness import Bench, same_files
from programs.cpp_source import cpp_source
from programs.inputs import write_lines
from programs.project_sources import c_project, java_project, rust_project, write_project


def large_cpp(units: int, *, views: bool = True):
    return lambda folder: write_lines(folder / "large.cpp", cpp_source(units, views=views))


@pytest.mark.needs("g++")
@pytest.mark.parametrize(("units", "level"), [
    (1, "-O2"),
    pytest.param(8, "-O2", marks=pytest.mark.long),
    pytest.param(8, "-O0", marks=pytest.mark.long),
    pytest.param(4, "-O3", marks=pytest.mark.long),
])
def test_gxx(bench: Bench, units: int, level: str) -> None:
    script = f"g++ -std=c++20 {level} -c large.cpp -o large.o && g++ large.o -o large && ./large"
    plain, preloaded = bench.both(
        ["sh", "-c", script], setup=large_cpp(units),
        binders=["g++", "cc1plus", "as", "collect2", "ld", "large"])
    assert plain.stdout.startswith(b"total ")
    assert same_files(plain, preloaded, "large.o", "large") == 2


@pytest.mark.needs("clang++")
@pytest.mark.parametrize(("units", "level"), [
    (1, "-O1"),
    pytest.param(8, "-O2", marks=pytest.mark.long),
])
def test_clangxx(bench: Bench, units: int, level: str) -> None:
    plain, preloaded = bench.both(
        ["clang++", "-std=c++20", level, "-c", "large.cpp", "-o", "large.o"],
        setup=large_cpp(units, views=False), binders=["libLLVM-14.so.1"])
    assert same_files(plain, preloaded, "large.o") == 1


@pytest.mark.needs("make", "gcc")
def test_make_in_parallel(bench: Bench) -> None:
    plain, preloaded = bench.both(
        ["make", "-j2", "-s", "--output-sync=target", "check"],
        setup=lambda folder: write_project(folder, c_project(20)),
        binders=["make", "cc1", "as", "ld"])
    assert same_files(plain, preloaded, "*.o", "program") == 22


@pytest.mark.needs("javac", "java")
def test_javac(bench: Bench) -> None:
    plain, preloaded = bench.both(
        ["sh", "-c", "javac -d out Main.java gen/*.java && java -cp out Main"],
        setup=lambda folder: write_project(folder, java_project(25)),
        binders=["javac", "java", "libjvm.so"])
    assert plain.stdout.startswith(b"total ")
    assert same_files(plain, preloaded, "out/**/*.class") > 75


@pytest.mark.needs("cargo", "rustc", "cc")
def test_cargo_build(bench: Bench) -> None:
    plain, _ = bench.both(
        ["sh", "-c", "cargo build --quiet --offline --release && target/release/generated"],
        setup=lambda folder: write_project(folder, rust_project(3)),
        binders=["cargo", "rustc", "ld", "generated"])
    assert plain.stdout.startswith(b"total ")


@pytest.mark.needs("rustc")
def test_rustc(bench: Bench) -> None:
    plain, preloaded = bench.both(
        ["rustc", "--edition=2021", "--crate-type=lib", "--crate-name=generated", "--emit=obj",
         "-Ccodegen-units=1", "-Copt-level=2", "src/lib.rs", "-o", "generated.o"],
        setup=lambda folder: write_project(folder, rust_project(2)), binders=["rustc"])
    assert same_files(plain, preloaded, "generated.o") == 1
