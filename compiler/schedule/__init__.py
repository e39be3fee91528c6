"""What is computed together, in which pass, in which memory: fusion, the memory plan, chunks."""
