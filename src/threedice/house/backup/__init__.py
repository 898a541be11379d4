"""Back up a whole house to one encrypted file, and restore it on any machine.

`container` (encryption and file format) -> `contents` (what a backup holds) -> `create` and
`restore`.
"""
