"""Tables: what one is, the builder, what each shows, and those that need code of their own."""
