"""The audit: verification by replaying the log."""
