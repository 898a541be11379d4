"""Cases: rounds of play that a person who does not program can write down and have checked.

A TOML file of cases -> `phrases` (lines in plain words -> commands, made of what is in `script`) ->
`run` (commands through the table, what came out against what was expected).
"""

from threedice.cases.runner import (
    Case,
    CaseOutcome,
    narrate_case,
    read_cases,
    run_case,
    shipped_cases,
)

__all__ = ["Case", "CaseOutcome", "narrate_case", "read_cases", "run_case", "shipped_cases"]
