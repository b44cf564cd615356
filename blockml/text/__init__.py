"""Characters, words, tokens, longest common subsequences and stable hashes of texts."""
