"""A trained model: its feature set, predictors and policy, its file, and the scores that it gives a page."""
