"""Models of blocks: feature matrix in, log odds or probabilities out. They know neither pages nor decisions."""
