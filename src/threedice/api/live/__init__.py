"""Live WebSockets: each table's events, broadcast to its subscribers."""
