"""Cases: scenario files that describe rounds of play in plain words and check the result.

`runner` reads a TOML file of cases and plays them. `phrases` translates its lines into commands and
`expectations` into checks, in the language that `language` defines. `citations` checks the clauses.
"""

from threedice.cases.language import CaseContext
from threedice.cases.phrases import parse_line
from threedice.cases.runner import (
    Case,
    CaseOutcome,
    narrate_case,
    read_cases,
    run_case,
    shipped_cases,
)

__all__ = [
    "Case",
    "CaseContext",
    "CaseOutcome",
    "narrate_case",
    "parse_line",
    "read_cases",
    "run_case",
    "shipped_cases",
]
