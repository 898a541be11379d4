"""Golden playthroughs: rounds as prose, one file per rulebook."""
