"""Facts for operators: events, as they are published, to logs and to figures for Prometheus."""
