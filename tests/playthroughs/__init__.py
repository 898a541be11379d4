"""Golden playthroughs: rounds told as prose, one file a rulebook."""
