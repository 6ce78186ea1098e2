-- When a node's session last confirmed that it lives, and since when it has been seen to be gone. A worker may begin
-- an attempt for a second after it was confirmed; others may take its claims two seconds after `gone_since`, which
-- only the node itself clears (docs/decisions/right-to-begin.md).
ALTER TABLE nodes
    ADD COLUMN confirmed_at timestamptz,
    ADD COLUMN gone_since timestamptz;
