"""Authentication of callers, their permissions, and the events they may see."""
