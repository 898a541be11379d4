"""A player's session with a bankroll and a staking plan, computed as a Markov chain."""
