"""Tests of rulebooks: loading them, extending them, and what each document says."""
