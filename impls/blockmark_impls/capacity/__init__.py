"""Ways to divide the KV memory of an accelerator among requests, as bookkeeping alone.

A policy holds no bytes. It says which request may start now, how much of the memory it
takes for it, and when a running one must give way. Sizes are tokens of KV memory.
"""
