"""Who is calling, what they may do, and what they may see."""
