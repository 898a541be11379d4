"""The log: append-only, hash-chained streams of entries in a database.

`entry` (an entry and its hash) -> `records` (everything else that is stored) -> `conflicts` (which
proposals of a batch are accepted, and the rows they insert) -> `store` (the log in a database, by
`stores` for SQLite and PostgreSQL) -> `writer` (group commit) -> `feed` (subscriptions to streams).
`proof` holds signing keys, checkpoints, verification and backups.
"""

from threedice.extras import require_extra

require_extra("house", "running a house")
