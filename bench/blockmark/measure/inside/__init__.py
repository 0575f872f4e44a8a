"""What runs in a measured process."""
