"""The floor: tables running on the log."""
