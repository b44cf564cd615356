"""Adapters that let engines run :class:`blockml.batch.BatchExtractor` on many machines.

There is one module per engine, such as ``blockml.batch.engines.spark``. It needs the engine's package, which the extra
with the module's name installs.
"""
