"""Published extractors that need no training, one module a method."""
