"""Passwords, second factors, sessions, tokens and known devices."""
