"""The shell of every page: sign-in, languages, unknown addresses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.screens.house_server import PASSWORD
from tests.screens.network import HeldRequests

if TYPE_CHECKING:
    from tests.screens.browser import NewUser
    from tests.screens.house import House


def test_user_signs_in_with_name_and_password(house: House, new_user: NewUser) -> None:
    page = new_user(house).page
    page.goto("/")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("player")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert").filter(has_text="do not go together")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_language_changes_without_a_page_load(house: House, new_user: NewUser) -> None:
    page = new_user(house).sign_in("player")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.evaluate("window.notReloaded = true")
    page.get_by_label("Language").select_option("zh-Hant")
    expect(page.get_by_role("button", name="登出")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hant")
    assert page.evaluate("window.notReloaded")


def test_page_stays_blank_until_the_users_language_is_loaded(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house, lang="zh-Hant").page
    page.add_init_script(RECORD_FIRST_HEADING)
    held = HeldRequests(page, "**/assets/zh-Hant-*.json")
    with page.expect_response("**/api/session"):
        page.goto("/", wait_until="commit")
    held.wait()
    expect(page.locator("#app > *")).to_have_count(0)
    with page.expect_response("**/assets/zh-Hant-*.json") as fetched:
        held.release()
    assert fetched.value.headers["content-type"] == "application/json"
    assert fetched.value.headers["content-encoding"] == "gzip"
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hant")
    assert is_chinese(page.evaluate("window.firstHeading"))


RECORD_FIRST_HEADING = """
new MutationObserver(() => {
  const heading = document.querySelector("h1")?.innerText;
  if (heading) window.firstHeading ??= heading;
}).observe(document, { childList: true, subtree: true, characterData: true });
"""


def is_chinese(text: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)


def test_failed_download_of_a_language_is_retried(house: House, new_user: NewUser) -> None:
    page = new_user(house, lang="zh-Hans").page
    page.route("**/assets/zh-Hans-*.json", lambda route: route.abort(), times=1)
    page.goto("/")
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_role("button", name="登录", exact=True)).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")


def test_page_loads_the_texts_of_one_language(house: House, new_user: NewUser) -> None:
    page = new_user(house, lang="zh-Hant").page
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(Path(request.url).name))
    page.goto("/")
    expect(page.get_by_role("button", name="登入", exact=True)).to_be_visible()
    texts = [name for name in loaded if name.endswith(".json")]
    assert [name[: len("zh-Hant-")] for name in texts] == ["zh-Hant-"]


LIGHT, DARK = "rgb(244, 241, 232)", "rgb(13, 21, 18)"


def test_theme_follows_the_device_until_the_user_chooses_one(
    house: House, new_user: NewUser
) -> None:
    page = new_user(house).sign_in("player")
    background, switch = page.locator("html"), page.get_by_test_id("theme")
    page.emulate_media(color_scheme="light")
    expect(background).to_have_css("background-color", LIGHT)
    page.emulate_media(color_scheme="dark")
    expect(background).to_have_css("background-color", DARK)
    expect(switch).to_have_accessible_name("Colours: as the device")
    switch.click()
    expect(switch).to_have_accessible_name("Colours: light")
    expect(background).to_have_css("background-color", LIGHT)
    page.reload()
    expect(switch).to_have_accessible_name("Colours: light")
    expect(background).to_have_css("background-color", LIGHT)
    switch.click()
    page.emulate_media(color_scheme="light")
    expect(switch).to_have_accessible_name("Colours: dark")
    expect(background).to_have_css("background-color", DARK)
    page.emulate_media(media="print")
    expect(background).to_have_css("background-color", "rgb(255, 255, 255)")
    page.evaluate("localStorage.setItem('threedice.theme', 'purple')")
    page.emulate_media(media="screen", color_scheme="light")
    page.reload()
    expect(background).to_have_css("background-color", LIGHT)
    expect(switch).to_have_accessible_name("Colours: as the device")


@pytest.mark.parametrize("path", ["/table", "/nowhere", "/nowhere/at/all"])
def test_unknown_address_shows_a_not_found_page(house: House, new_user: NewUser, path: str) -> None:
    page = new_user(house).sign_in("player", path)
    expect(page.get_by_role("heading", name="nothing under this address")).to_be_visible()


@pytest.mark.parametrize(
    ("user", "path"),
    [
        ("player", "/table/nobodys"),
        ("dealer", "/deal/nobodys"),
        ("supervisor", "/pit/nobodys"),
        ("player", "/board/nobodys"),
    ],
)
def test_page_of_a_table_that_the_house_does_not_have_says_so(
    house: House, new_user: NewUser, user: str, path: str
) -> None:
    page = new_user(house).sign_in(user, path)
    expect(page.get_by_text("The house has no table of this name.")).to_be_visible()
