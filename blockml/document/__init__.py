"""The document of a page: what is kept, as a tree of blocks and inline content."""
