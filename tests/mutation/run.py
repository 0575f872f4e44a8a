"""Mutants of the built-in structures against the proof: which of them does it not find?

    python tests/mutation/run.py --sample 200 --seed 1
    python tests/mutation/run.py --only "bitmap_pool.py | comparison"

Prints each mutant with what showed it, and ends with code 1 if one survived that is not in
survivors.toml, where those stand that are no other program for any caller, with the reason.
A sample is drawn from all sites: the same seed draws the same one as long as the sources stay.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from proving import prove_mutants
from sites import FILES, all_sites

from blockmark.measure.proof.mutants import write_mutants

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proving import Result
    from sites import Site

SURVIVORS = Path(__file__).with_name("survivors.toml")
_SHORT = 90


def main() -> None:
    """List, write or prove."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the sites and stop")
    parser.add_argument(
        "--write", type=int, metavar="NUMBER", help="write one as a target and stop"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="sites with this in their names")
    parser.add_argument("--listed", action="store_true", help="only those of survivors.toml")
    parser.add_argument("--sample", type=int, metavar="N", help="so many of them, drawn by lot")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--programs", type=int, default=100, help="random programs for each")
    parser.add_argument("--cores", type=int, default=2, help="processes at once")
    parser.add_argument(
        "--cpu", type=float, default=20.0, help="CPU seconds without progress: it hangs"
    )
    parser.add_argument("--folder", type=Path, help="where to write them; else a temporary one")
    options = parser.parse_args()
    sites = [site for site in all_sites() if options.only in site.name]
    if options.listed:
        listed = read_survivors(SURVIVORS)
        sites = [site for site in sites if site.name in listed]
    if options.write is not None:
        site = all_sites()[options.write]
        mutant = site.mutant(FILES[site.of][0])
        folder = options.folder or Path(tempfile.mkdtemp())
        print(f"{site.shown}\n{write_mutants([mutant], folder)[0][1]}")
        return
    if options.sample is not None:
        chosen = random.Random(options.seed).sample(sites, min(options.sample, len(sites)))
        sites = sorted(chosen, key=lambda site: site.number)
    if options.list:
        for site in sites:
            print(f"{site.number:5} {site.name}\n      {site.shown}")
        return
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(_prove(sites, options.folder or Path(temporary), options))


def _prove(sites: Sequence[Site], folder: Path, options: argparse.Namespace) -> int:
    equivalent = read_survivors(SURVIVORS)
    gone = equivalent.keys() - {site.name for site in all_sites()}
    for name in sorted(gone):
        print(f"no such mutant, though survivors.toml names it: {name}")
    counts: Counter[str] = Counter()
    unexplained = []
    for site, result in _results(sites, folder, options):
        listed = site.name in equivalent
        says = "equivalent" if listed and result.status == "survived" else result.status
        counts[says] += 1
        if says == "survived":
            unexplained.append(site)
        if listed and result.status == "killed":
            print(f"survivors.toml calls it equivalent, and the proof finds it: {site.name}")
        shown_by = result.shown_by[:_SHORT]
        print(
            f"{says:10} {site.number:5} {site.name}\n{'':17}{site.shown}\n{'':17}{shown_by}",
            flush=True,
        )
    for site in sorted(unexplained, key=lambda site: site.number):
        print(f"SURVIVED {site.number} {site.name}\n         {site.shown}")
    print(", ".join(f"{number} {says}" for says, number in sorted(counts.items())))
    return bool(unexplained or gone)


def _results(
    sites: Sequence[Site], folder: Path, options: argparse.Namespace
) -> Iterator[tuple[Site, Result]]:
    """A second class of a file is asked about those that its first one does not show."""
    by_name = {f"m{site.number}": site for site in sites}
    left = list(sites)
    for number in range(max(map(len, FILES.values()))):
        asked = [site for site in left if number < len(FILES[site.of])]
        mutants = [site.mutant(FILES[site.of][number]) for site in asked]
        left = []
        for result in prove_mutants(
            mutants,
            folder / str(number),
            programs=options.programs,
            cores=options.cores,
            cpu_s=options.cpu,
        ):
            site = by_name[result.mutant.name]
            if result.status == "survived" and number + 1 < len(FILES[site.of]):
                left.append(site)
            else:
                yield site, result


def read_survivors(file: Path) -> dict[str, str]:
    """Why each of them is no other program, by its name."""
    rows = tomllib.loads(file.read_text("utf-8"))["survivor"]
    return {name: row["reason"] for row in rows for name in row["mutants"]}


if __name__ == "__main__":
    main()
