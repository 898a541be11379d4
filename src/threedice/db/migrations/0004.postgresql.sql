-- Version 4: refusals are final. Other stored forms have changed too: tests/db/forms/0004.txt.

-- Answers.
-- refusal: the refusal of the command; empty if it was accepted.
ALTER TABLE answers ADD COLUMN refusal BYTEA NOT NULL DEFAULT '';
