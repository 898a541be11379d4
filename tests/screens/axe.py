"""What axe-core finds wrong with a page as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parent.parent.parent
AXE = (ROOT / "screens" / "node_modules" / "axe-core" / "axe.min.js").read_text()
RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
  .flatMap((found) => found.nodes.map((node) => `${found.id}: ${node.target.join(" ")}`))"""


def faults(page: Page) -> list[str]:
    """Return every fault with where it is; a page that everybody can use has none."""
    page.evaluate(AXE)
    found: list[str] = page.evaluate(RUN)
    return found
