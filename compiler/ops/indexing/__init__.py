"""What reads and writes elements by indices: keys, gathers, scatters, `.at`."""
