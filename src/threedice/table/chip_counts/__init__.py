"""Chips by denomination: counts, change, the chips that events move, and counts of the rack."""
