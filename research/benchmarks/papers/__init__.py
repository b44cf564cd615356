"""Tables of the five papers, measured on labelled pages: see research/papers.md."""
