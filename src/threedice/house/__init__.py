"""The floor: tables and accounts running on the log.

command -> `floor.handle` -> `deciding` (table and cage) -> `running` streams -> the log's writer ->
answer. `recovery` brings tables back after an outage, `dealer` deals automatic ones with dice by
`sealing`, `projections` and `reports` tell what happened, `auditing` proves it.
"""

from threedice.house.command_handler import CommandHandler
from threedice.house.commands import CommandResult

__all__ = ["CommandHandler", "CommandResult"]
