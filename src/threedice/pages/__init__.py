"""Printable pages: self-contained HTML files with charts drawn as SVG."""
