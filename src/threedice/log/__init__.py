"""The log: append-only, hash-chained streams of entries in a database.

`entry` (an entry and its hash) -> `store` (the Store protocol and its records) -> `conflicts` and
`batch` (which proposals of a batch are accepted, and the rows they insert) -> `writer` (group
commit) -> `feed` (subscriptions to streams). `stores` holds the databases: memory, SQLite,
PostgreSQL. `proof` holds signing keys, checkpoints, verification and backups.
"""
