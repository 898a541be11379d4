"""Read and write the recordings: text files with one item per line, so that diffs are short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


def read(name: str) -> Any:
    """Return the content of a JSON recording."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def write(name: str, content: dict[str, Any]) -> None:
    """Write a mapping as JSON with one line per key, or two levels deep for nested mappings."""
    save(FOLDER / name, _object(content, depth=2) + "\n")


def read_lines(name: str) -> list[Any]:
    """Return the items of a JSON-lines recording."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def write_lines(name: str, items: list[Any]) -> None:
    """Write items as JSON lines."""
    save(FOLDER / name, "".join(f"{_compact(item)}\n" for item in items))


def save(file: Path, text: str) -> None:
    """Write text to a file, making its folder if needed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _object(content: dict[str, Any], depth: int) -> str:
    lines = []
    for key in sorted(content):
        value = content[key]
        nested = depth > 1 and isinstance(value, dict) and value
        text = _object(value, depth - 1) if nested else _compact(value)
        lines.append(f"{json.dumps(key, ensure_ascii=False)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
