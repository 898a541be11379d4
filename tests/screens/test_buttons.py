"""Every enabled button does something: each one of each page is pressed, and its effect is seen.

An effect is a request, a change of the page, a move of the focus or of the scroll position, a
navigation, a download, a print, or a sound. Dialogs that a button opens are walked as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect

from tests.screens.browser import wait_until_loaded
from tests.screens.house import House, house_toml, table_toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.screens.browser import BrowserUser, NewUser

GAME = "sg-rws-tai-sai-v6/a"
BY_HOUSE = "dealt_by_house = { betting_seconds = 600 }\n"
MOST_TURNS = 200
"""Of pressing a button or closing a dialog; a page that needs more offers new buttons for ever."""


WATCH = """() => {
  window.effects = [];
  const note = (what) => window.effects.push(what);
  for (const [at, name] of [
    [window, "print"], [window, "open"], [URL, "createObjectURL"],
    [AudioContext.prototype, "createOscillator"], [AudioContext.prototype, "createBufferSource"],
    [Element.prototype, "scrollTo"], [Element.prototype, "scrollIntoView"],
    [HTMLInputElement.prototype, "showPicker"], [HTMLElement.prototype, "focus"],
  ]) {
    const was = at[name];
    at[name] = function (...given) {
      note(name);
      return name === "print" || name === "open" ? null : was.apply(this, given);
    };
  }
  const fetched = window.fetch;
  window.fetch = function (what, options) {
    if (window.isPressing || (what.method ?? options?.method ?? "GET") !== "GET") note("request");
    return fetched.call(this, what, options);
  };
  addEventListener("invalid", () => note("message of the browser"), true);
}"""
"""Note what a press does; requests that the page repeats by itself do not count."""

PRESS_NEXT = """([pressed, isHeader]) => {
  const press = (button) => {
    const isClock = (node) =>
      (node.nodeType === 1 ? node : node.parentElement)?.closest("[role=timer], time, [hidden]");
    new MutationObserver((changes, observer) => {
      if (!changes.some(({ target }) => !isClock(target))) return;
      window.effects.push("page");
      observer.disconnect();
    }).observe(document, {
      subtree: true, childList: true, attributes: true, characterData: true,
    });
    window.effects.length = 0;
    window.isPressing = true;
    setTimeout(() => (window.isPressing = false));
    button.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
  };
  const dialogs = [...document.querySelectorAll("dialog[open]")];
  const place = dialogs.at(-1) ?? (isHeader ? document : document.querySelector("main"));
  const isOff = (each) => each.disabled || each.closest("[aria-disabled=true], [inert]");
  const isChosen = (each) => ["aria-pressed", "aria-selected", "aria-checked", "aria-current"]
    .some((name) => !["", "false", null].includes(each.getAttribute(name)));
  const named = (each) => {
    const name = (each.ariaLabel ?? each.innerText ?? each.textContent).trim();
    const area = each.closest("[data-area]") ? "area" : name.replace(/[\\d.,]+/g, "#");
    const where = each.closest("section, header, nav, [role=group], [role=toolbar]");
    const label = where?.ariaLabel ?? where?.querySelector("h2, h3")?.textContent ?? "";
    return [dialogs.length ? place.querySelector("h2").innerText : "", label.trim(), area]
      .map((part) => part.replace(/\\s+/g, " ").replace(/\\d+/g, "#")).join(" / ");
  };
  for (const each of place?.querySelectorAll("button, [role=button], summary") ?? []) {
    if (each.matches("dialog > .top > button")) continue; // Escape closes, too
    if (!each.checkVisibility() || isOff(each) || isChosen(each)) continue;
    const name = named(each);
    if (pressed.includes(name)) continue;
    press(each);
    return name;
  }
  return null;
}"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Run a house with a table in each state that has buttons of its own."""
    tables = ("betting", "paying", "between", "checks", "pit")
    toml = house_toml(dict.fromkeys(tables, GAME)) + table_toml("mat", "triple-dice/mat")
    toml += table_toml("automatic", GAME, "refuse") + BY_HOUSE
    with House(tmp_path_factory.mktemp("buttons"), toml) as house:
        for table in ("betting", "paying", "between", "pit", "mat", "automatic"):
            house.pass_checks(table)
        for table in ("betting", "paying", "pit"):
            player = house.buy_in(table)
            house.deal(table, (1, 2, 3))
            house.send("dealer", table, "OpenBetting")
            for box in ("big", "small", "total:9"):
                house.send("player", table, "PlaceBet", player=player, box=box, amount=500)
        house.deal("paying", (1, 4, 5), until="pay-winners")
        house.buy_in("mat")
        yield house


PAGES = {
    "sign-in": ("", "/"),
    "lobby": ("player", "/"),
    "lobby of a dealer": ("dealer", "/"),
    "player, betting": ("player", "/table/betting"),
    "player, automatic": ("player2", "/table/automatic"),
    "player, mat": ("player", "/table/mat"),
    "watching": ("auditor", "/table/betting"),
    "dealer, betting": ("dealer", "/deal/betting"),
    "dealer, paying": ("dealer", "/deal/paying"),
    "dealer, between": ("dealer", "/deal/between"),
    "dealer, checks": ("dealer", "/deal/checks"),
    "dealer, mat": ("dealer", "/deal/mat"),
    "board": ("player", "/board/betting"),
    "odds": ("player", "/odds/sg-rws-tai-sai-v6/a"),
    "odds sheet": ("player", "/odds/sg-rws-tai-sai-v6/a?view=sheet"),
    "games": ("player", "/odds"),
    "account": ("player", "/account"),
}
PIT = {
    "pit-manager": ("floor", "create", "approvals", "report", "players"),
    "auditor": ("audit", "report"),
}
PIT_OF_TABLE = {
    "pit-manager": ("now", "limits", "decisions", "rounds", "equipment", "dice", "running"),
    "auditor": ("rounds", "monitor", "equipment"),
}
PAGES |= {
    f"pit, {user}, {v}": (user, f"/pit?view={v}") for user, views in PIT.items() for v in views
}
PAGES |= {
    f"pit of a table, {user}, {v}": (user, f"/pit/pit?view={v}")
    for user, views in PIT_OF_TABLE.items()
    for v in views
}
PAGES["people"] = "administrator", "/pit?view=people"  # the last one: it changes passwords
WITH_HEADER = ("sign-in", "lobby")


@pytest.mark.parametrize("name", PAGES)
def test_every_enabled_button_does_something(name: str, house: House, new_user: NewUser) -> None:
    user, path = PAGES[name]
    assert dead_buttons(new_user(house), user, path, header=name in WITH_HEADER) == []


def dead_buttons(window: BrowserUser, user: str, path: str, *, header: bool) -> list[str]:
    """Press every enabled button of a page and of its dialogs; return those without an effect."""
    page = window.page
    page.add_init_script(f"({WATCH})()")
    page.on("dialog", lambda dialog: dialog.dismiss())
    open_page(window, user, path)
    address, title = page.url, heading(page)
    pressed: list[str] = []
    dead: list[str] = []
    for _ in range(MOST_TURNS):
        found = page.evaluate(PRESS_NEXT, [pressed, header])
        if found is None:
            if not has_open_dialog(page):
                return dead
            close_dialog(page)
            continue
        pressed.append(found)
        if not has_effect(page, address):
            dead.append(found)
        wait_until_loaded(page)  # what the press opens, before the next one
        if page.url != address or heading(page) != title:
            open_page(window, user, path)
    raise AssertionError(f"there is no end of buttons: {pressed}")


def has_open_dialog(page: Page) -> bool:
    return page.locator("dialog[open]").count() > 0


def close_dialog(page: Page) -> None:
    """Close the last dialog; another may open meanwhile, because pages load some of them."""
    dialog = page.evaluate_handle("() => [...document.querySelectorAll('dialog[open]')].at(-1)")
    page.keyboard.press("Escape")
    page.wait_for_function("(dialog) => !dialog?.isConnected || !dialog.open", arg=dialog)


def heading(page: Page) -> list[str]:
    return page.locator("h1").all_inner_texts()


def has_effect(page: Page, address: str) -> bool:
    """Wait for an effect of the button that was pressed."""
    try:
        page.wait_for_function(
            "(address) => window.effects.length > 0 || location.href !== address",
            arg=address,
        )
    except PlaywrightTimeoutError:
        return False
    return True


def open_page(window: BrowserUser, user: str, path: str) -> None:
    """Open a page; signed in again, because a button may have ended the session."""
    if user:
        window.sign_in(user, path)
        expect(window.page.locator("h1")).to_have_count(1)
    else:
        window.page.goto(path)
    wait_until_loaded(window.page)
