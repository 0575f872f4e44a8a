"""Two builds, measured by one harness: where each is from, and how they take turns."""
