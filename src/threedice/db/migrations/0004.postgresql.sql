-- Version 4: refusals are final. Other stored forms have changed too: tests/db/forms/0004.txt.

-- Answers.
-- refusal: the refusal that the command's sender was told; empty if the command was accepted.
ALTER TABLE answers ADD COLUMN refusal BYTEA NOT NULL DEFAULT '';
