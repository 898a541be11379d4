"""Invariants of tables under random commands."""
