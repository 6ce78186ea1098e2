"""Delivering a firing: the request, its secrets and signature, and the ways to send it."""
