"""The labelling page: a local web server that shows pages with the model's proposal, and stores corrected labels."""
