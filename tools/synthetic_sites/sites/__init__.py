"""The templates of the synthetic sites, one module a site."""
