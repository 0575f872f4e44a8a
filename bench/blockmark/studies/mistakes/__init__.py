"""What a known mistake costs: the wrong version beside the right one."""
