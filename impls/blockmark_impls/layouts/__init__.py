"""Ways to lay out block tables: rows beside cache lines, and the forms of a packed batch."""
