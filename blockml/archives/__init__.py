"""Archives of fetched pages: decompression, records of WARC and ARC files, HTTP responses."""
