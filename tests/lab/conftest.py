"""What the tests of the lab share: the package from the tree, and a build to test with."""

import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "lab"))

from hakmem_lab.places import Places, find_places  # noqa: E402


@pytest.fixture(scope="session")
def places() -> Places:
    """HAKMEM_BUILD_DIR or build/release; a missing program is a failure, not a skipped test."""
    return find_places()
