"""Measurements against targets and against other libraries; none of them can fail a build."""
