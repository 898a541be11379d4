"""Printable pages, each one self-contained file of HTML with its pictures drawn as SVG."""
