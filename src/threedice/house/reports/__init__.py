"""Reports read from the log: statements, results, shift figures, exposure, and plain text."""
