"""Renderers and a debugger: large programs with pools and arenas of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Bench, same_files
from programs.text_sources import pdf_document

INPUTS = Path(__file__).parent / "inputs"
PAGES = 40


def document(folder: Path) -> None:
    (folder / "document.pdf").write_bytes(pdf_document(PAGES))


@pytest.mark.needs("gs")
def test_ghostscript(bench: Bench) -> None:
    plain, preloaded = bench.both(
        ["gs", "-q", "-dNOPAUSE", "-dBATCH", "-dSAFER", "-sDEVICE=ppmraw", "-r72",
         "-sOutputFile=page%02d.ppm", "document.pdf"],
        setup=document, binders=["libgs.so.10"])
    assert same_files(plain, preloaded, "*.ppm") == PAGES


@pytest.mark.needs("pdftoppm")
def test_pdftoppm(bench: Bench) -> None:
    plain, preloaded = bench.both(["pdftoppm", "-r", "60", "document.pdf", "page"],
                                  setup=document, binders=["libpoppler.so.126"])
    assert same_files(plain, preloaded, "*.ppm") == PAGES


@pytest.mark.needs("gdb", "gcc")
def test_gdb(bench: Bench) -> None:
    def setup(folder: Path) -> None:
        (folder / "backtrace.c").write_bytes((INPUTS / "backtrace.c").read_bytes())

    commands = ["break innermost", "run", "backtrace", "print *list", "print list->next->name",
                "finish", "continue"]
    script = ("gcc -g -fdebug-prefix-map=$PWD=. -o program backtrace.c && gdb -nx -batch "
              "-iex 'set debuginfod enabled off' "
              + " ".join(f"-ex '{command}'" for command in commands) + " ./program "
              "| grep -E '^(#|[$]|Value|.Inferior)' | sed -E 's/0x[0-9a-f]+/ADDRESS/g; "
              "s/process [0-9]+/process/'")
    plain, _ = bench.both(["sh", "-c", script], setup=setup, compare_stderr=False,
                          binders=["gdb", "program"])
    assert b"innermost" in plain.stdout and b"exited normally" in plain.stdout
