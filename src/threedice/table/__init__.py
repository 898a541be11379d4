"""One table: commands in, events out, refusals that name the clause.

`commands` -> `decide` (handlers in `procedure`, `chips`, `betting`, `settlement`, `irregularities`
and `equipment`; shared checks in `rules` and `limits`) -> `events` -> `evolve` -> `state`.
`explanation` and `prose` read the events. `facade` plays a table in memory by method calls, with
the `usual_steps` of its rulebook.
"""

from threedice.errors import Refusal
from threedice.table.decide import decide
from threedice.table.evolve import evolve, replay
from threedice.table.explanation import BetRef, explain
from threedice.table.facade import Table
from threedice.table.state import TableState

__all__ = ["BetRef", "Refusal", "Table", "TableState", "decide", "evolve", "explain", "replay"]
