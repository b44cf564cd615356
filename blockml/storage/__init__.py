"""Files that appear whole or not at all, and files of a JSON header and arrays."""
