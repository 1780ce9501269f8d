"""What a careful person would look at in a run: each check with its threshold, what was found, and what to do about it."""

from __future__ import annotations

from ada.report.checks.beliefs import belief_checks
from ada.report.checks.ending import ending_checks
from ada.report.checks.finding import Finding
from ada.report.checks.limits import limit_checks
from ada.report.checks.trends import trend_checks
from ada.report.record import RunRecord

ORDER = ("bad", "warn", "good")


def examine(run: RunRecord) -> list[Finding]:
    """The worst first. What the run did not measure is not in it."""
    found = [*ending_checks(run), *limit_checks(run), *trend_checks(run), *belief_checks(run)]
    return sorted(found, key=lambda finding: ORDER.index(finding.level))
