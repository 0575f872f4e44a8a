"""Helpers of the tests are importable by their bare names."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
