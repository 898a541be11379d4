"""The log: append-only streams of bytes, each chained, kept by a store.

`entry` (an entry and its hash) -> `store` (what every store promises: `memory`, `sqlite`,
`postgres`) -> `writer` (one thread, group commit) -> `feed` (who follows a stream). `checkpoints`
and `verification` prove that nothing in the past was changed.
"""
