"""`threedice clauses`: the traceability sheet, from every clause to its data and its tests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from threedice.cli.output import print_heading, print_json, print_line
from threedice.rulebook import load_rulebook
from threedice.rulebook.source import shipped_ids
from threedice.rulebook.traceability import ClauseTrace, trace_clauses

if TYPE_CHECKING:
    from threedice.rulebook.source import RulebookSource


def show(name: str | None, as_json: bool) -> None:
    """Print the clauses of one rulebook, or of all."""
    sources = [load_rulebook(each) for each in ([name] if name else shipped_ids())]
    traced = [(source, trace_clauses(source)) for source in sources]
    if as_json:
        print_json({"rulebooks": [_as_json(source, traces) for source, traces in traced]})
        return
    for source, traces in traced:
        _print(source, traces)


def _as_json(source: RulebookSource, traces: list[ClauseTrace]) -> dict[str, Any]:
    return {
        "rulebook": source.book.id,
        "source": source.book.source,
        "clauses": [
            {
                "clause": each.number,
                "status": each.clause.status,
                "summary": each.clause.summary,
                "reason": each.clause.reason,
                "stated_in": each.origin,
                "data": list(each.data),
                "tests": list(each.tests),
            }
            for each in traces
        ],
    }


def _print(source: RulebookSource, traces: list[ClauseTrace]) -> None:
    statuses = Counter(each.clause.status for each in traces)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    print_heading(f"{source.book.id}: {len(traces)} clauses ({counts})")
    for each in traces:
        elsewhere = f", stated in {each.origin}" if each.origin != source.book.id else ""
        print_line(f"\n{each.number} [{each.clause.status}{elsewhere}] {each.clause.summary}")
        if each.clause.reason:
            print_line(f"  because: {each.clause.reason}")
        if each.data:
            print_line(f"  data: {', '.join(each.data)}")
        for test in each.tests:
            print_line(f"  test: {test}")
