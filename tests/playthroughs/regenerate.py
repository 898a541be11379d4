"""Write the golden file of every playthrough; `make playthroughs` runs this module."""

from __future__ import annotations

from pathlib import Path

from threedice.cases import narrate_case, read_cases, run_case

HERE = Path(__file__).parent


def playthrough(cases: Path) -> str:
    """Return the cases of a file as prose."""
    return "\n".join(narrate_case(run_case(case)) for case in read_cases(cases))


if __name__ == "__main__":
    for file in sorted(HERE.glob("*.toml")):
        file.with_suffix(".txt").write_text(playthrough(file), encoding="utf-8")
