"""The cage: a player's account with the house, commands in and events out."""
