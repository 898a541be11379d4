"""The `threedice` command line; `main` is its entry point.

`app` is the root command. Each group of commands is a module that is imported when one of its
commands is invoked. `arguments` and `output` are shared by the groups.
"""

from threedice.cli.app import main

__all__ = ["main"]
