"""Tenants: for whom things are scheduled, and the keys with which one speaks for them."""
