"""Published extractors that need no training, one module per method."""
