"""The contestants: a program each, run as a process of its own (`part`)."""
