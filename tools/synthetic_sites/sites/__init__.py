"""Templates of the synthetic sites, one module per site."""
