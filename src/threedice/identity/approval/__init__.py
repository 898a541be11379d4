"""Requests and enrolments that a second person decides."""
