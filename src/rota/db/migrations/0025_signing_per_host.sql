-- Each target host gets a signing key of its own, derived from the tenant's secret, so that one receiver cannot
-- sign for another (docs/decisions/signing-per-host.md).

-- A secret from before was given to receivers as it is: whoever has it could derive every host's key. It signs as
-- before, for all hosts alike, until it is rotated. The default is for servers of the version before, which still
-- show to receivers what they insert; this version always says false.
ALTER TABLE signing_secrets ADD COLUMN shared boolean NOT NULL DEFAULT true;
