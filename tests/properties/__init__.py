"""Properties that hold at every table, whatever is asked of it."""
