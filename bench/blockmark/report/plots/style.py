"""What all pictures share: colours, markers, fonts, and how a figure becomes a PNG.

A scheme has one colour everywhere, so that a reader who has met it in one picture
knows it in the next; the tier is told apart by marker and line style, never by
colour alone. The colours are those of Okabe and Ito ("Color Universal Design",
2008), which people with the common kinds of colour blindness tell apart.

matplotlib is imported when a picture is drawn and never before: that costs more
than half a second. Its object interface is used with the Agg canvas, so that
neither a display nor global state is touched.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from blockmark.runs.errors import one_line
from blockmark.runs.model import ImplementationInfo

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 120
INK = "#222222"
FAINT = "#d5d5d5"
FLOOR = "#7a7a7a"
BAD = "#9c2f00"

# The table of a scheme decides its colour; a pool that is not the table's usual one
# makes it lighter or darker. So flat-stack is the same green as flat+stack.
_TABLES = {
    "hash": "#D55E00",
    "open-hash": "#E69F00",
    "vector": "#0072B2",
    "flat": "#009E73",
    "two-level": "#CC79A7",
}
_USUAL_POOL = {"flat": "stack"}
_SHADES = {"list": -0.35, "stack": -0.35, "lru": 0.4, "bitmap": 0.6}
_NAMED = {"hash-map": "hash+list", "flat-stack": "flat+stack"}
# For schemes that blockmark has not named: engines' and users' own.
_OTHERS = ("#56B4E9", "#CC79A7", "#8C6D00", "#000000", "#7F3C8D", "#4B8B9B")
_CONTROLS = {"null": FLOOR, "raw-array": "#404040"}

_LONGEST_NAME = 38


_Dash = Literal["-"] | tuple[float, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Look:
    """How one implementation is drawn."""

    color: str
    marker: str
    line: _Dash
    filled: bool


# Marker, line styles and word of each tier. The further line styles are for more
# implementations of the same scheme and tier, such as one called in another way.
_TIERS: dict[str, tuple[str, tuple[_Dash, ...], str]] = {
    "cpp": ("o", ("-", (0, (9, 1.5)), (0, (9, 1.5, 1.5, 1.5))), "C++"),
    "py": ("s", ((0, (5, 1.6)), (0, (3, 1.2)), (0, (2, 2.5))), "Python"),
    "numpy": ("^", ((0, (6, 1.5, 1, 1.5)), (0, (3, 1, 1, 1))), "numpy"),
}
_OTHER_TIER: tuple[str, tuple[_Dash, ...], str] = ("D", ((0, (1.2, 1.2)), (0, (1, 3))), "other")


def looks(infos: Iterable[ImplementationInfo]) -> dict[str, Look]:
    """How each implementation of a run is drawn, by name.

    A named scheme always gets its colour. An unknown one gets a colour by its name,
    or the next free one if another scheme of the run has that already.
    """
    colors: dict[str, str] = {}
    found = list(infos)
    taken: set[str] = set()
    for scheme in sorted({info.scheme for info in found}):
        color = _known_color(scheme)
        if color is None:
            start = hashlib.sha256(scheme.encode()).digest()[0] % len(_OTHERS)
            turned = (*_OTHERS[start:], *_OTHERS[:start])
            color = next((other for other in turned if other not in taken), turned[0])
            taken.add(color)
        colors[scheme] = color
    result = {}
    seen: Counter[tuple[str, str]] = Counter()
    for info in found:
        marker, lines, _ = _TIERS.get(info.tier, _OTHER_TIER)
        line = lines[min(seen[info.scheme, info.tier], len(lines) - 1)]
        seen[info.scheme, info.tier] += 1
        result[info.name] = Look(colors[info.scheme], marker, line, info.kind != "control")
    return result


def tier_markers(infos: Iterable[ImplementationInfo]) -> list[tuple[str, str]]:
    """(marker, word) of each tier that is there, for a legend."""
    tiers = dict.fromkeys(_TIERS.get(info.tier, _OTHER_TIER) for info in infos)
    order = [*_TIERS.values(), _OTHER_TIER]
    return [(tier[0], tier[2]) for tier in order if tier in tiers]


def _known_color(scheme: str) -> str | None:
    if scheme in _CONTROLS:
        return _CONTROLS[scheme]
    table, _, pool = _NAMED.get(scheme, scheme).partition("+")
    base = _TABLES.get(table)
    if base is None or pool not in (*_SHADES, ""):
        return None
    if pool in ("", _USUAL_POOL.get(table, "list")):
        return base
    return _shaded(base, _SHADES[pool])


def _shaded(color: str, amount: float) -> str:
    """Towards white by a positive amount of at most 1, towards black by a negative one."""
    goal = 255 if amount > 0 else 0
    parts = (int(color[index : index + 2], 16) for index in (1, 3, 5))
    mixed = (round(part + (goal - part) * abs(amount)) for part in parts)
    return "#" + "".join(f"{part:02x}" for part in mixed)


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
    "axes.edgecolor": FLOOR,
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


def new_figure(width: float, height: float, title: str) -> Figure:
    """A figure of that size in inches with a canvas of its own and a title."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    figure.text(
        0.1 / width, 1 - 0.1 / height, title, va="top", size=10.5, weight="bold", parse_math=False
    )
    return figure


def png(figure: Figure) -> bytes:
    """The figure as PNG; the same figure gives the same bytes (no date, no version)."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()
