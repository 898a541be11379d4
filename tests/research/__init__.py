"""Tests of the research kit."""
