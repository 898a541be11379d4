-- Version 3: changes to the log and to people's records that bypass the house show.

-- Streams.
-- mac: HMAC of stream, version and hash under the key `keys/log.key` of the state directory, which
-- every commit that moves the head writes anew; empty: written without that key.
ALTER TABLE streams ADD COLUMN mac BLOB NOT NULL DEFAULT x'';

-- People's records: the salt of the hash that the stream `people` of the log holds of a row.
-- name: the table of the row. key: its primary key.
CREATE TABLE people_records (
    name TEXT NOT NULL,
    "key" TEXT NOT NULL,
    salt BLOB NOT NULL,
    PRIMARY KEY (name, "key")
) STRICT;
