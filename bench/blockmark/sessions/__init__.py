"""Loops that ask for measurements and hand them to a judgement; they see both wings."""
