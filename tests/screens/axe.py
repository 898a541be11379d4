"""axe-core, run inside a page: what it finds wrong for people who see, hear or move otherwise."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from screens import build

if TYPE_CHECKING:
    from playwright.sync_api import Page

RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map((each) => ({
    id: each.id,
    help: each.help,
    nodes: each.nodes
      .slice(0, 4)
      .map((node) => `${node.html.slice(0, 160)} -- ${node.failureSummary}`),
  }));
}"""


@cache
def source() -> str:
    build.install()
    return (build.SOURCES / "node_modules" / "axe-core" / "axe.min.js").read_text()


def violations(page: Page) -> list[dict[str, Any]]:
    """Return what axe finds on a page as it is now."""
    if not page.evaluate("typeof axe !== 'undefined'"):
        page.evaluate(source())
    found: list[dict[str, Any]] = page.evaluate(RUN)
    return found
