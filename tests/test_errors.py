"""Messages of errors."""

from threedice.errors import RulebookError, UnknownName


def test_unknown_name_suggests_the_nearest_names() -> None:
    error = UnknownName("box", "totl:9", ["big", "small", "total:9", "total:10"])

    assert error.nearest == ["total:9", "total:10"]
    assert str(error) == "no box 'totl:9'; did you mean total:9 or total:10?"


def test_unknown_name_without_near_matches_suggests_the_first_names() -> None:
    assert UnknownName("box", "xyzzy", ["big", "small"]).nearest == ["big", "small"]
    assert "none to choose from" in str(UnknownName("box", "xyzzy", []))


def test_a_rulebook_error_names_file_key_clause_and_remedy() -> None:
    error = RulebookError("my.toml", "wagers.big", "cannot win", "mend it", "4.1")

    assert str(error) == "my.toml: wagers.big (clause 4.1): cannot win; mend it"
