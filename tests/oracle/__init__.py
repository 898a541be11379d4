"""Independent oracle: the rules of the games once more, by plain counting."""
