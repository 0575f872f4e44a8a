"""The one way to ask a measured process, and how it answers."""
