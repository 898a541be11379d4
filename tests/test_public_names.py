"""What `import threedice` offers."""

import pytest

import threedice


def test_every_public_name_is_there() -> None:
    assert all(getattr(threedice, name) is not None for name in threedice.__all__)


def test_nothing_else_is() -> None:
    with pytest.raises(AttributeError, match="no attribute 'roulette'"):
        _ = threedice.roulette
