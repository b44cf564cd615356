"""Training: decision trees, their pruning and their evaluation."""
