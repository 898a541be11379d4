"""Tests of `threedice.db`."""
