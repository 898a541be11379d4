"""A check of the links within a folder of HTML pages."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ATTRIBUTES = {"href", "src"}
EXTERNAL_RESOURCES = {"img", "script", "link", "iframe"}


class PageParser(HTMLParser):
    """Collects the ids and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := values.get(name))}
        self.links += [(tag, value) for name in ATTRIBUTES if (value := values.get(name))]


def parse(page: Path) -> PageParser:
    parser = PageParser()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser


def broken_links(folder: Path) -> list[str]:
    """Return the links within a site that lead to no file or to no anchor."""
    pages = {page.resolve(): parse(page) for page in sorted(folder.rglob("*.html"))}
    return [
        f"{page.relative_to(folder.resolve())}: {link}"
        for page, parsed in pages.items()
        if page.name != "404.html"  # its links are absolute: it is shown for any address
        for _, link in parsed.links
        if not _leads_somewhere(page, link, pages)
    ]


def _leads_somewhere(page: Path, link: str, pages: dict[Path, PageParser]) -> bool:
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return True
    target = (page.parent / unquote(address.path)).resolve() if address.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    anchor = unquote(address.fragment)
    return not anchor or target not in pages or anchor in pages[target].ids | {"__search"}


def requests_to_other_hosts(folder: Path) -> Iterator[str]:
    """Yield the pictures, scripts and styles that a page would load from elsewhere."""
    for page in sorted(folder.rglob("*.html")):
        for tag, link in parse(page).links:
            if tag in EXTERNAL_RESOURCES and urlsplit(link).netloc:
                yield f"{page.name}: {link}"
