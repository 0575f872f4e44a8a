"""`blockmark doctor`: what this machine can measure, and why not the rest."""

from __future__ import annotations

from .lines import say_pairs


def command() -> int:
    """Say what can be measured here, and why not the rest.

    Ends with the smallest change that is visible on this machine.
    """
    from blockmark.sessions.doctor import Finding, examine, smallest_change

    from .progress import progress_on_stderr

    def show(finding: Finding) -> None:
        say_pairs([(f"{finding.state:4}  {finding.name}", finding.text)], least=24)

    for finding in examine():
        show(finding)
    with progress_on_stderr() as progress:
        last = smallest_change(progress)
    show(last)
    return 0
