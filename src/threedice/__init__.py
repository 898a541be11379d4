"""Threedice."""
