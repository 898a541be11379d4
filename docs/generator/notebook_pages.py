"""Pages of the notebooks: each is executed, and shown with its outputs."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "notebooks"
EXECUTED: Final = ROOT / "build" / "notebooks"
SECONDS_OF_A_CELL: Final = 120
"""The time after which a cell counts as hanging, on a busy machine."""
_ANSI: Final = re.compile(r"\x1b\[[0-9;]*m")


class NotebookFailed(Exception):
    """A cell of a notebook raised an exception."""


def notebooks() -> list[Path]:
    """Return the notebooks of the gallery, in order."""
    return sorted(FOLDER.glob("*.ipynb"))


def page_uri(notebook: Path) -> str:
    """Return the place of a notebook's page on the site."""
    return f"notebooks/{notebook.stem}.md"


def pages(index: str) -> Iterator[tuple[str, str]]:
    """Yield the page of every notebook, and the page that lists them."""
    files = notebooks()
    with ThreadPoolExecutor(2) as pool:
        executed = list(pool.map(execute, files))
    lines = []
    for file, notebook in zip(files, executed, strict=True):
        title, _, lead = notebook.cells[0].source.partition("\n")
        lines.append(f"- [{title.lstrip('# ')}]({file.stem}.md): {' '.join(lead.split())}")
        yield page_uri(file), render(file, notebook)
    lead = (
        "For researchers and the curious: notebooks that the build of this site executes. The "
        "files are in `docs/notebooks`; they need Jupyter and `pip install 'threedice[sim]'`."
    )
    yield index, "\n\n".join(["# Notebooks", lead, "\n".join(lines), ""])


def execute(file: Path) -> Any:
    """Execute a notebook in a kernel of its own, and return it with its outputs.

    The result is kept until the notebook or the package changes.
    """
    kept = EXECUTED / f"{_hash_of_sources(file)}.ipynb"
    if kept.exists():
        return nbformat.read(kept, as_version=4)
    notebook = nbformat.read(file, as_version=4)
    with TemporaryDirectory() as sockets:
        client = NotebookClient(notebook, timeout=SECONDS_OF_A_CELL)
        kernel = client.create_kernel_manager()
        kernel.transport, kernel.ip = "ipc", f"{sockets}/kernel"
        try:
            asyncio.run(client.async_execute())
        except CellExecutionError as error:
            raise NotebookFailed(f"{file.name}: {_ANSI.sub('', str(error))}") from None
    EXECUTED.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, kept)
    return notebook


def _hash_of_sources(file: Path) -> str:
    seen = sha256(file.read_bytes())
    for source in sorted((ROOT / "src" / "threedice").rglob("*")):
        if source.suffix in (".py", ".toml", ".json"):
            seen.update(sha256(source.read_bytes()).digest())
    return seen.hexdigest()


def render(file: Path, notebook: Any) -> str:
    """Return an executed notebook as Markdown."""
    title, *rest = [part for cell in notebook.cells for part in _cell(cell)]
    hint = f"*The notebook `docs/notebooks/{file.name}`, as executed by the build of this site.*"
    return "\n\n".join([title, hint, *rest, ""])


def _cell(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        heading, _, rest = cell.source.partition("\n")
        yield from filter(
            None, [heading, rest.strip("\n")] if heading.startswith("# ") else [cell.source]
        )
    elif cell.source:
        yield f"```python\n{cell.source}\n```"
        for output in cell.outputs:
            yield from _output(output)


def _output(output: Any) -> Iterator[str]:
    if output.output_type == "stream":
        yield f"```text\n{output.text.rstrip()}\n```"
        return
    data = output.data
    if "text/html" in data:
        lines = (line for line in data["text/html"].splitlines() if line.strip())
        yield f'<div class="sheet output">{"".join(lines)}</div>'
    elif "image/svg+xml" in data:
        yield f'<div class="sheet output">{"".join(data["image/svg+xml"].splitlines())}</div>'
    elif "image/png" in data:
        source = f"data:image/png;base64,{''.join(data['image/png'].split())}"
        alt = escape(data["text/plain"])
        yield f'<div class="sheet output"><img alt="{alt}" src="{source}"></div>'
    else:
        yield f"```text\n{data['text/plain']}\n```"
