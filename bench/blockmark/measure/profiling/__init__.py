"""Where the time of one implementation goes: by callgrind, perf or a sampler of our own."""
