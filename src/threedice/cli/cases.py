"""`threedice cases`: play cases and show where they come out otherwise than expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from threedice.cases import CaseOutcome, narrate_case, read_cases, run_case, shipped_cases
from threedice.cli.output import print_heading, print_json, print_line
from threedice.rulebook.conduct import clause_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def run(files: Sequence[Path], tell: bool, as_json: bool) -> int:
    """Play the cases of the files, or those shipped; return 1 if any comes out otherwise."""
    chosen = list(files) or shipped_cases()
    outcomes = [(file, run_case(case)) for file in chosen for case in read_cases(file)]
    failed = [outcome for _, outcome in outcomes if not outcome.passed]
    if as_json:
        print_json({"cases": [_as_json(file, outcome) for file, outcome in outcomes]})
    else:
        for file, outcome in outcomes:
            if tell:
                print_line(narrate_case(outcome))
            if not outcome.passed:
                _print(file, outcome)
        print_line(f"{len(outcomes) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _as_json(file: Path, outcome: CaseOutcome) -> dict[str, object]:
    return {
        "file": str(file),
        "case": outcome.case.name,
        "clauses": list(clause_numbers(outcome.case.clause)),
        "passed": outcome.passed,
        "differences": outcome.differences,
    }


def _print(file: Path, outcome: CaseOutcome) -> None:
    print_heading(
        f"{file.name}: {outcome.case.name} ({', '.join(clause_numbers(outcome.case.clause))})"
    )
    for difference in outcome.differences:
        print_line(f"  {difference}")
