"""Serving traces: when requests came, how long they were, and what their prompts shared.

One format a file, each of which says where its traces come from and what is odd in
them; `open_trace` reads any of them as a stream of `Request`.
"""

from .hashes import block_hashes
from .known import FORMATS
from .request import Request
from .summary import summarise
from .trace import Trace, open_trace
from .window import time_window

__all__ = ["FORMATS", "Request", "Trace", "block_hashes", "open_trace", "summarise", "time_window"]
