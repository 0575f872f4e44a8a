"""Studies: measurements that are no replay of a Program, a folder each; see blockmark/rooms.py."""
