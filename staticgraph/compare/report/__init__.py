"""How a report is shown: in the terminal, as Markdown, as a plot."""
