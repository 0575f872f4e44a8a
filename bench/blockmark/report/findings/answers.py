"""All that the numbers of a setting say: of times, of counters, of the paced loop."""

from __future__ import annotations

from collections.abc import Mapping

from blockmark.report.findings.counters import counter_findings
from blockmark.report.findings.engine_gain import engine_gains
from blockmark.report.findings.headline import Finding, findings
from blockmark.report.findings.rates import rate_findings
from blockmark.runs.model import Run, SettingKey


def answers(run: Run) -> Mapping[SettingKey, tuple[Finding, ...]]:
    """For each setting its findings; what the run does not tell is left out."""
    times = findings(run)
    return {
        key: (
            *times[key],
            *engine_gains(run, setting),
            *counter_findings(run, setting),
            *rate_findings(run, setting),
        )
        for key, setting in run.setting_by_key.items()
    }
