"""From scores to kept blocks: thresholds, expected F1, lines, duplicates, page-level rules."""
