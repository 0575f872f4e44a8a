"""What tables, sentences and pictures are made of: settings, loads, order, and how to write."""
