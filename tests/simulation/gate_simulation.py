"""How often the gate's rule is wrong and what it finds, on recorded rounds; and other rules.

    python tests/simulation/gate_simulation.py --splice docs/gate.md

Suites are drawn from the recording with labels swapped at random (see `recording.py`). In
one kind both sides are the same program: any verdict is false. In the other one scheme's
step is the slower one, the others are as they were. Every rule sees the same suites. With
the same recording and seed the output is the same.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from recording import load_recording
from simulation_text import render_counts
from verdict_counts import count_verdicts

from blockmark.report.splice import splice
from blockmark.verdict.gate import Rule

SPLICED = "gate simulation"


def main() -> None:
    """Simulate, print, and splice where asked to."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=Path, default=here / "rounds.json", metavar="FILE")
    parser.add_argument("--suites", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--splice", type=Path, metavar="FILE", help="put the text into a document")
    options = parser.parse_args()
    rule = Rule()
    recording = load_recording(options.rounds)
    if recording.rounds < rule.looks[-1]:
        sys.exit(
            f"{options.rounds}: {recording.rounds} rounds; the rule looks at {rule.looks[-1]}. "
            f"Record more: python tests/simulation/record_rounds.py {2 * rule.looks[-1]}"
        )
    counts = count_verdicts(recording, options.suites, options.seed, rule)
    text = render_counts(recording, counts, rule)
    print(text)
    if options.splice:
        command = "python tests/simulation/gate_simulation.py"
        if options.suites != 400 or options.seed != 1:
            command += f" --suites {options.suites} --seed {options.seed}"
        splice(options.splice, SPLICED, text, f"{command} --splice {options.splice}")


if __name__ == "__main__":
    main()
