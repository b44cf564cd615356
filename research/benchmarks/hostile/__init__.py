"""Pages that attack an extractor: their cost by size on each back end, and with other tools."""
