"""The HTML page, in a real browser; and the documents that it is made from, against their schema."""

import html
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from importlib import resources

import jsonschema
import pytest
from click.testing import CliRunner

from hakmem_lab import cli, page, plots, results
from hakmem_lab.statistics import median_interval

SCHEMA = json.loads(resources.files("hakmem_lab").joinpath("result-schema.json").read_text())

# Runs in the page, and tells the one around it what the browser made of it.
PROBE = """<script>addEventListener("load", () => {
  const bars = [...document.querySelectorAll("svg")];
  const text = document.querySelector("svg text");
  parent.postMessage({
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    paper: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(text).fill,
    plots: bars.length,
    narrowest: Math.min(...bars.map(bar => bar.getBoundingClientRect().width)),
    text: text.getBoundingClientRect().height,
    rows: document.querySelectorAll("tbody tr").length,
    loads: performance.getEntriesByType("resource").length,
    failed: document.querySelectorAll("td.bad").length,
    injected: Boolean(window.injected),
  }, "*");
});</script>"""
FRAME = """<!doctype html><body><iframe width="{width}" height="800" style="border:0" srcdoc="{page}">
</iframe><script>addEventListener("message", event => {{
document.body.dataset.found = JSON.stringify(event.data); }});</script></body>"""


def document():
    """Three workloads, one with a failure, one over threads, and names that want to be markup."""
    script = '</td><script>window.injected = true</script>"'
    commands = [
        {"name": "set-256", "argv": ["x"], "axes": {"workload": "a", "set": 256}},
        {"name": "set-65536", "argv": ["x"], "axes": {"workload": "b", "set": 65536}},
        {"name": "t ×1", "argv": ["x"], "axes": {"workload": "t", "threads": 1}},
        {"name": "t ×2 " + script, "argv": ["x"], "axes": {"workload": "t", "threads": 2}},
    ]
    names = ["hakmem", "glibc", "odd & <b>"]
    runs, timelines = [], []
    for command in range(len(commands)):
        for index in range(len(names)):
            if (command, index) == (3, 1):
                continue
            for number in range(6):
                wall = 1 + 0.1 * index + 0.01 * number
                figures = {"wall_s": wall, "cpu_s": wall, "throughput": 50 / wall, "switches": 3,
                           "peak_rss_kib": 2000 + 100 * index, "minor_faults": 400}  # fmt: skip
                runs.append({"command": command, "allocator": index, "round": number, "attempt": 0,
                             "disturbed": False, "counts": True, "figures": figures})  # fmt: skip
            timelines.append({"command": command, "allocator": index, "seconds": [0.0, 0.5, 1.0],
                              "kib": [100, 2000, 1500]})  # fmt: skip
    machine = {"kernel": "6", "processor": "p", "processors": 2, "libc": "glibc", "load": [0, 0, 0],
               "transparent_hugepages": None}  # fmt: skip
    return {
        "format": 2, "kind": "lab", "time": "2024-01-01T00:00:00+00:00", "machine": machine,
        "commit": None, "commands": commands, "metric": "auto", "settings": {}, "interrupted": True,
        "allocators": [{"name": name, "title": name, "environment": {}, "libraries": {}} for name in names],
        "runs": runs, "timelines": timelines,
        "failures": [{"command": 3, "allocator": 1, "failure": "was killed by signal 11: " + script}],
        "details": [{"command": 0, "allocator": 0, "figures": {"system_calls": 1234}}],
    }  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return page.render(results.Result(document()))


def in_browser(folder, text, width, dark=False):
    """What the probe saw in a frame of that width."""
    browser = shutil.which("chromium")
    assert browser, "chromium is missing; tools/deps.txt lists it"
    frame = FRAME.format(width=width, page=html.escape(text.replace("</body>", PROBE + "</body>")))
    (folder / "frame.html").write_text(frame)
    scheme = (
        ["--blink-settings=preferredColorScheme=0"]
        if dark
        else ["--blink-settings=preferredColorScheme=1"]
    )
    done = subprocess.run(
        [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={folder}/profile", *scheme, "--virtual-time-budget=5000",
         "--window-size=1400,900", "--dump-dom", (folder / "frame.html").as_uri()],
        capture_output=True, text=True, check=True, timeout=90,
    )  # fmt: skip
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


def brightness(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3


@pytest.mark.parametrize(("width", "dark"), [(360, False), (360, True), (1200, False)])
def test_in_a_browser(made, tmp_path, width, dark):
    seen = in_browser(tmp_path, made, width, dark)
    assert seen["overflow"] <= 0, (
        "the page must not scroll sideways; its tables do, in their frames"
    )
    assert seen["plots"] == 2 + 4 * 2
    assert seen["narrowest"] > 250
    assert seen["text"] >= 8
    assert seen["rows"] == 12
    assert seen["failed"] == 1
    assert seen["loads"] == 0, "self-contained: nothing is loaded"
    assert not seen["injected"]
    paper, ink = brightness(seen["paper"]), brightness(seen["ink"])
    assert (paper < 60 and ink > 180) if dark else (paper > 230 and ink < 80)


def test_nothing_is_fetched_from_elsewhere(made):
    fetched = re.findall(r"""(?:src|href)\s*=\s*["'](?!#)[^"']*|url\((?!#)[^)]*|@import""", made)
    assert fetched == []


def test_identifiers_are_unique(made):
    found = re.findall(r'\bid="([^"]+)"', made)
    assert len(found) == len(set(found))
    used = re.findall(r'(?:xlink:href="#|url\(#)([^")]+)', made)
    assert set(used) <= set(found)


def test_plots_are_well_formed_and_reproducible():
    result = results.Result(document())
    first, second = (plots.bars(result, 0, "x") for _ in range(2))
    assert first == second
    ElementTree.fromstring(first)
    assert "currentColor" in first
    assert plots.bars(results.Result(document() | {"runs": []}), 0, "x") is None


def test_the_made_up_document_follows_the_schema():
    jsonschema.validate(document(), SCHEMA)


def test_real_documents_follow_the_schema(places, tmp_path):
    build = ["--build", str(places.build), "--json"]
    short = ["-n", "1", "--repeats", "0"]
    asked = {
        "compare": ["compare", "--with", "glibc", *short, *build, "FILE", "--", "bench_pair", "1000"],
        "lab": ["lab", "run", "trees", "--quick", "--with", "glibc", "-n", "1", *build, "FILE",
                "--html", str(tmp_path / "page.html")],
        "failed": ["compare", "--with", "glibc,nothing", *short, *build, "FILE", "--", "sh", "-c",
                   "if grep -q libnothing /proc/$$/maps; then exit 9; fi"],
    }  # fmt: skip
    for name, arguments in asked.items():
        file = tmp_path / f"{name}.json"
        CliRunner().invoke(cli.main, [str(file) if word == "FILE" else word for word in arguments])
        jsonschema.validate(json.loads(file.read_text()), SCHEMA)
    made = (tmp_path / "page.html").read_text()
    assert made.count("<svg") == 2


def test_every_kind_of_figure_is_described(places, tmp_path):
    file = tmp_path / "x.json"
    CliRunner().invoke(cli.main, ["compare", "--build", str(places.build), "--with", "glibc", "-n", "1",
                                  "--json", str(file), "--", "true"])  # fmt: skip
    known = SCHEMA["properties"]["runs"]["items"]["properties"]["figures"]["properties"].keys()
    for run in json.loads(file.read_text())["runs"]:
        assert run["figures"].keys() - known <= {"processors", "busy_s"}


def test_median_interval():
    assert median_interval([3.0]) is None
    assert median_interval([2.0] * 5) == (2.0, 2.0)
    low, high = median_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert 1 <= low < 4 < high <= 7
