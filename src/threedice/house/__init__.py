"""The house: tables and accounts that run on the log.

A command goes through `command_handler` -> `decisions` (table and account) -> `streams` -> the
log's writer, and the handler returns the result. `recovery` restores tables after an outage,
`dealer` deals automatic tables with sealed dice, `reports` projects the log into statements, and
`audit` verifies all of it.
"""

from threedice.house.command_handler import CommandHandler, CommandResult

__all__ = ["CommandHandler", "CommandResult"]
