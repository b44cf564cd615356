"""The labelling page: a local web server that shows pages with proposed labels, and stores corrected ones."""
