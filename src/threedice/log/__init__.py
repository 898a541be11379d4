"""The log: append-only streams of bytes, each chained, kept by a store.

`entry` (an entry and its hash) -> `store` (what every store promises) -> `writer` (group commit;
`waiting`: who waits; `halt` when the disk fails; `scribe`, `scribing`, `greeting`, `turn`: a
process that writes for a house in service) -> `feed` (who follows a stream; `listening` to others).
Stores: `memory`, `sqlite` (`serving`: one process) and `postgres` (`appending`, `deadline`,
`trouble`), on one `schema` and one judgement of what may be written (`judging`, `batch`, `sql`);
`opening` finds them by URL. Proof: `keys` and `checkpoints`; `verification` by `rows`, `chains`,
`matching`, `witnesses` and `findings`; `backup`.
"""
