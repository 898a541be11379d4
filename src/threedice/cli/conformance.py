"""`threedice clauses` and `cases`: trace clauses to data and tests, and run scenario files."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from threedice.cases import CaseOutcome, narrate_case, read_cases, run_case, shipped_cases
from threedice.cli.arguments import JsonOption, argument, command_group
from threedice.cli.output import print_heading, print_json, print_line
from threedice.rulebook import load_rulebook
from threedice.rulebook.conduct import clause_numbers
from threedice.rulebook.source import RulebookSource, shipped_ids
from threedice.rulebook.traceability import ClauseProof, ClauseTrace, trace_clauses
from threedice.rulebook.validation import format_key

commands = command_group()


# --- clauses ------------------------------------------------------------------------------------


@commands.command("clauses")
def show_clauses(
    name: Annotated[str | None, argument("RULEBOOK", "A rulebook; all of them if omitted.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Print every clause with its status, data and tests.

    For a modelled clause, print a change of its data and the case that then fails.
    """
    sources = [load_rulebook(each) for each in ([name] if name else shipped_ids())]
    traced = [(source, trace_clauses(source)) for source in sources]
    if as_json:
        print_json({"rulebooks": [_clauses_json(source, traces) for source, traces in traced]})
        return
    for source, traces in traced:
        _print_clauses(source, traces)


def _clauses_json(source: RulebookSource, traces: list[ClauseTrace]) -> dict[str, Any]:
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
                "data": each.data,
                "tests": each.tests,
                "proof": each.proof,
            }
            for each in traces
        ],
    }


def _print_clauses(source: RulebookSource, traces: list[ClauseTrace]) -> None:
    statuses = Counter(each.clause.status for each in traces)
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    print_heading(f"{source.book.id}: {len(traces)} clauses ({counts})")
    for each in traces:
        origin = f", stated in {each.origin}" if each.origin != source.book.id else ""
        print_line(f"\n{each.number} [{each.clause.status}{origin}] {each.clause.summary}")
        if each.clause.reason:
            print_line(f"  because: {each.clause.reason}")
        if each.data:
            print_line(f"  data: {', '.join(each.data)}")
        for test in each.tests:
            print_line(f"  test: {test}")
        if each.proof:
            _print_proof(each.proof)


def _print_proof(proof: ClauseProof) -> None:
    for change in proof.changes:
        old, new = _describe_value(change.old), _describe_value(change.new)
        print_line(f"  proof: {format_key(tuple(change.key))} changed from {old} to {new}")
    print_line(f"  fails: {proof.case}: {proof.difference}")


def _describe_value(value: object) -> str:
    """Describe a value of a rulebook; a table by its keys, as its values stand in the rulebook."""
    if isinstance(value, dict):
        return f"a table of {', '.join(value)}"
    return "nothing" if value is None else json.dumps(value, ensure_ascii=False)


# --- cases --------------------------------------------------------------------------------------


@commands.command("cases")
def check_cases(
    files: Annotated[
        list[Path] | None, argument("FILE...", "Scenario files; the shipped ones if omitted.")
    ] = None,
    tell: Annotated[bool, typer.Option("--tell", help="Narrate each case.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Run scenario files and report the cases that fail.

    The exit code is 1 if a case fails.
    """
    outcomes = [
        (file, run_case(case)) for file in files or shipped_cases() for case in read_cases(file)
    ]
    failed = [outcome for _, outcome in outcomes if not outcome.passed]
    if as_json:
        print_json({"cases": [_case_json(file, outcome) for file, outcome in outcomes]})
    else:
        for file, outcome in outcomes:
            if tell:
                print_line(narrate_case(outcome))
            if not outcome.passed:
                _print_failed_case(file, outcome)
        print_line(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    raise typer.Exit(1 if failed else 0)


def _case_json(file: Path, outcome: CaseOutcome) -> dict[str, object]:
    return {
        "file": str(file),
        "case": outcome.case.name,
        "clauses": clause_numbers(outcome.case.clause),
        "passed": outcome.passed,
        "differences": outcome.differences,
    }


def _print_failed_case(file: Path, outcome: CaseOutcome) -> None:
    clauses = ", ".join(clause_numbers(outcome.case.clause))
    print_heading(f"{file.name}: {outcome.case.name} ({clauses})")
    for difference in outcome.differences:
        print_line(f"  {difference}")
