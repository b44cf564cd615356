"""Writers of documents: one module per format, which sees only the nodes of :mod:`blockml.document`."""
