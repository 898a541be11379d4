"""The OpenAPI document is as recorded, prose and component names aside."""

from __future__ import annotations

import pytest

from tests.contract import adapter, openapi, recordings

RECORDED = openapi.inline_schemas(recordings.read("openapi.json"))


@pytest.fixture(scope="module")
def current() -> dict[str, object]:
    return openapi.inline_schemas(openapi.normalise(adapter.openapi_document()))


@pytest.mark.parametrize("part", sorted(RECORDED.keys() - {"operations"}))
def test_part_of_the_openapi_document_is_as_recorded(current: dict[str, object], part: str) -> None:
    assert current[part] == RECORDED[part]


def test_openapi_document_has_the_recorded_operations(
    current: dict[str, dict[str, object]],
) -> None:
    assert sorted(current["operations"]) == sorted(RECORDED["operations"])


@pytest.mark.parametrize("name", sorted(RECORDED["operations"]))
def test_openapi_operation_is_as_recorded(current: dict[str, dict[str, object]], name: str) -> None:
    assert current["operations"][name] == RECORDED["operations"][name]
