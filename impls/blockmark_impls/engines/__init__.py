"""Adapters to block managers of real serving engines, one file each.

`rows.py` lists them. An engine is looked for, and not imported, until a manager or a pool
of it is made; a release that an adapter can't drive is unavailable, with the reason.
"""
