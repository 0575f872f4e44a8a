"""What all pictures share: size, fonts, and how a figure becomes a PNG and an SVG.

A picture is as wide as a page shows it, so that no letter comes out smaller than it was drawn.

matplotlib is imported when a picture is drawn and never before: that costs more
than half a second. Its object interface is used with the Agg canvas, so that
neither a display nor global state is touched.
"""

from __future__ import annotations

import io
import os
import tempfile
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blockmark.report.facts.picture import Drawn
from blockmark.runs.errors import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Pixels an inch, and inches across: 850 pixels, the width of a page of text.
DPI = 100
WIDTH = 8.5
INK = "#222222"
FAINT = "#d5d5d5"
BAD = "#9c2f00"

_LONGEST_NAME = 38


def short_name(name: str) -> str:
    """A name for a picture: one line, not endless, in letters that the font has."""
    line = "".join(letter if _has_glyph(letter) else _escaped(letter) for letter in one_line(name))
    if len(line) <= _LONGEST_NAME:
        return line
    return f"{line[: _LONGEST_NAME - 13]}...{line[-10:]}"


def _has_glyph(letter: str) -> bool:
    from matplotlib.font_manager import findfont, get_font

    return letter.isascii() or bool(get_font(findfont("DejaVu Sans")).get_char_index(ord(letter)))


def _escaped(letter: str) -> str:
    return letter.encode("ascii", "backslashreplace").decode("ascii")


@contextmanager
def drawing() -> Iterator[None]:
    """The settings that all pictures are drawn with, whatever the user's own are."""
    _set_cache_folder()
    import matplotlib

    with matplotlib.rc_context(), warnings.catch_warnings():
        # A letter that no font has becomes a box; that is no reason to warn.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from")
        matplotlib.rcdefaults()
        parameters: Any = matplotlib.rcParams
        parameters.update(_SETTINGS)
        yield


_SETTINGS: Mapping[str, object] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.edgecolor": "#7a7a7a",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8.5,
    "grid.color": "#ececec",
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    # Letters stay letters, and names inside the file do not depend on chance.
    "svg.fonttype": "none",
    "svg.hashsalt": "blockmark",
}


def _set_cache_folder() -> None:
    """Give matplotlib a place for its font cache; without one it complains on stderr."""
    if "MPLCONFIGDIR" in os.environ:
        return
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for folder in (Path(home), Path(tempfile.gettempdir())):
        cache = folder / f"blockmark-matplotlib-{os.getuid()}"
        try:
            cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(cache, os.W_OK):
            os.environ["MPLCONFIGDIR"] = str(cache)
            return


def new_figure(height: float, title: str) -> Figure:
    """A figure of the common width and a height in inches, with a canvas and a title."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), dpi=DPI)
    FigureCanvasAgg(figure)
    figure.text(
        0.1 / WIDTH, 1 - 0.1 / height, title, va="top", size=10.5, weight="bold", parse_math=False
    )
    return figure


def panel_title(axes: Axes, text: str) -> None:
    """Above a panel, in two lines if it has to be."""
    inches = axes.get_position().width * WIDTH
    lines = textwrap.wrap(text, max(10, int(inches / 0.083)))
    axes.set_title("\n".join(lines[:2]), loc="left", parse_math=False)


def drawn(figure: Figure) -> Drawn:
    """The figure in both forms; the same figure gives the same bytes (no date, no version)."""
    png, svg = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=DPI, metadata={"Software": None})
    figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    return Drawn(png.getvalue(), svg.getvalue())
