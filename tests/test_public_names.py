"""Public names of the package."""

import threedice


def test_every_public_name_can_be_imported() -> None:
    assert all(getattr(threedice, name) is not None for name in threedice.__all__)
