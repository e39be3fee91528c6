"""Looking at what runs: op by op, its memory, its times."""
