"""Audit of a house: verification by replaying its log."""
