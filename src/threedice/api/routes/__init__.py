"""HTTP operations, one module per subject."""
