"""Facts for operators: events, as they are published, to logs (and later metrics and traces)."""
