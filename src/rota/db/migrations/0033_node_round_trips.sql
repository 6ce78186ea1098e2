-- A scheduler that is far slower than another gives its shards up (rota.leases.share): each says how long its best
-- round trip to this database took lately.
ALTER TABLE nodes ADD COLUMN round_trip interval;
