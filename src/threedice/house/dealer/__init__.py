"""The automatic dealer of a table, and the sealed dice it draws."""
