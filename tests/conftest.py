"""Helpers of the tests are importable by their bare names; what several files share."""

import os
import signal
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

# A shell starts what it puts in the background with interrupts ignored, and every process
# inherits that: those that the tests interrupt would never hear of it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A parallel run of the tests exports the width of its terminal, and commands would wrap to it.
os.environ.pop("COLUMNS", None)


@pytest.fixture(scope="session")
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `XDG_CACHE_HOME` of every test that builds a header, so that what all modules
    need is compiled once. Not the user's: what an earlier run left there proves nothing.
    """
    base = tmp_path_factory.getbasetemp()
    # Shared by all processes of a parallel run, which have a folder each in a common one.
    place = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "build-cache"
    place.mkdir(exist_ok=True)
    return place
