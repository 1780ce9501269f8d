"""Did the run come to its end, and could all that it left be read?"""

from __future__ import annotations

from collections.abc import Iterator

from ada.report.checks.finding import Finding
from ada.report.record import RunRecord


def ending_checks(run: RunRecord) -> Iterator[Finding]:
    yield _ending(run)
    if run.unread:
        files = ", ".join(f"{file} ({count})" for file, count in run.unread.items())
        yield Finding(
            "Lines that could not be read", "warn", files, "none", "They are left out here. Was the disk full, or the file edited?"
        )
    missing = [name for name, there in (("recipe.yaml", run.recipe), ("metrics.jsonl", run.steps)) if not there]
    if missing:
        yield Finding("Files that are missing or empty", "warn", ", ".join(missing), "none", "What they would have shown is not here.")


def _ending(run: RunRecord) -> Finding:
    planned, done = run.key("steps"), run.trained[-1]["step"] if run.trained else 0
    of = f" of {planned}" if planned else ""
    error = run.steps[-1].get("error") if run.steps else None
    stopped = run.summary.get("stopped_by") if run.summary else None
    advice = "What is here ends there. log.txt says what happened."
    if error or (stopped and ":" in stopped):
        return Finding("End of the run", "bad", f"failed at step {done}{of}: {error or stopped}", "all steps done", advice)
    if stopped:
        return Finding("End of the run", "warn", f"stopped by {stopped} after step {done}{of}", "all steps done", advice)
    if run.summary is None:
        advice = "It is still going on, or it was killed. Make the report again when it has ended."
        return Finding("End of the run", "warn", f"no summary.json; the last step written is {done}{of}", "all steps done", advice)
    return Finding("End of the run", "good", f"{done}{of} steps done", "all steps done", advice)
