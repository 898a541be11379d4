"""The house as it is described: one file, checked strictly before anything is opened."""
