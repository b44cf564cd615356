"""Tables of the five papers, measured on labelled pages: see docs/papers.md."""
