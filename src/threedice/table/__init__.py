"""One table: commands in, events out, refusals with the clause that forbids.

`commands` -> `decide` (handlers in `opening`, `chips`, `betting`, `dealing`, `settling`,
`irregular`; questions they share in `rules`, `limits`, `voiding`) -> `events` -> `evolve` ->
`state`. `explain` and `prose` read the events.
"""

from threedice.errors import Refusal
from threedice.table.decide import decide
from threedice.table.evolve import evolve, replay
from threedice.table.explanation import BetRef, explain
from threedice.table.state import TableState

__all__ = ["BetRef", "Refusal", "TableState", "decide", "evolve", "explain", "replay"]
