"""Forms in which the block tables of a batch go to the device."""
