"""`blockmark doctor`: what this machine can measure, and why not the rest."""

from __future__ import annotations

import typer


def command() -> int:
    """Say what can be measured here, and why not the rest.

    Ends with the smallest change that is visible on this machine.
    """
    from blockmark.sessions.doctor import Finding, examine, smallest_change

    from .progress import progress_on_stderr

    def show(finding: Finding) -> None:
        typer.echo(f"{'yes' if finding.ok else 'no ':3}  {finding.name:18} {finding.text}")

    for finding in examine():
        show(finding)
    with progress_on_stderr() as progress:
        last = smallest_change(progress)
    show(last)
    return 0
