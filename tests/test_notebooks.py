"""The notebooks of the gallery run, and are stored without outputs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import nbformat
import pytest
from docs.generator.notebook_pages import ROOT, notebooks

if TYPE_CHECKING:
    from pathlib import Path


SCRIPT = """
import sys
from pathlib import Path
from docs.generator import notebook_pages as pages
file = Path(sys.argv[1])
print(pages.render(file, pages.execute(file)))
"""


def execute(notebook: Path) -> subprocess.CompletedProcess[str]:
    """Execute in a process of its own: Jupyter's warnings and event loops are not under test."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(notebook)],
        cwd=ROOT, check=False, capture_output=True, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda notebook: notebook.stem)
def test_notebook_runs_and_shows_a_result(notebook: Path) -> None:
    done = execute(notebook)

    assert done.returncode == 0, done.stderr
    assert "```text" in done.stdout or 'class="sheet output"' in done.stdout


@pytest.mark.parametrize("notebook", notebooks(), ids=lambda notebook: notebook.stem)
def test_notebook_is_stored_without_outputs_and_begins_with_a_title(notebook: Path) -> None:
    content = nbformat.read(notebook, as_version=4)
    code = [cell for cell in content.cells if cell.cell_type == "code"]

    assert content.cells[0].source.startswith("# ")
    assert [cell for cell in code if cell.outputs or cell.execution_count] == []
    assert len(code) > 2


def test_notebook_with_a_failing_cell_is_reported_by_name(tmp_path: Path) -> None:
    file = tmp_path / "broken.ipynb"
    cell = nbformat.v4.new_code_cell("1 / 0")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)

    done = execute(file)

    assert done.returncode == 1
    assert "NotebookFailed: broken.ipynb" in done.stderr
    assert "ZeroDivisionError" in done.stderr
