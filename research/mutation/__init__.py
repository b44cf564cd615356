"""Mutation testing: small changes to metrics, the decision and the model loader, which the tests must detect."""
