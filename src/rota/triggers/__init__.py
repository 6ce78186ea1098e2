"""WHEN: triggers, the instants they name, and the words people use for them. Pure."""
