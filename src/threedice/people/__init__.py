"""People: who may sign in, in which role, at which tables."""
