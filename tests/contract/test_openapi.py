"""The OpenAPI document is as recorded, prose and component names aside."""

from __future__ import annotations

import pytest

from tests.contract import adapter, files, openapi

RECORDED = openapi.expanded(files.read("openapi.json"))


@pytest.fixture(scope="module")
def current() -> dict[str, object]:
    return openapi.expanded(openapi.normalised(adapter.openapi_document()))


@pytest.mark.parametrize("part", sorted(RECORDED.keys() - {"operations"}))
def test_part_of_the_document_is_unchanged(current: dict[str, object], part: str) -> None:
    assert current[part] == RECORDED[part]


def test_operations_are_the_recorded_ones(current: dict[str, dict[str, object]]) -> None:
    assert sorted(current["operations"]) == sorted(RECORDED["operations"])


@pytest.mark.parametrize("name", sorted(RECORDED["operations"]))
def test_operation_is_unchanged(current: dict[str, dict[str, object]], name: str) -> None:
    assert current["operations"][name] == RECORDED["operations"][name]
