-- A tenant's firings by when they ended: its log, which goes on from where a reader was, and what
-- became of the last hour's. By status first, so that a rare one is found without passing the others.
CREATE INDEX firings_of_tenant ON firings (tenant_id, status, finished_at DESC, id DESC);

-- How many schedules of a tenant are active, paused and completed. All entries of a tenant and a status
-- are equal, so the index is small.
CREATE INDEX schedules_by_status ON schedules (tenant_id, status);
