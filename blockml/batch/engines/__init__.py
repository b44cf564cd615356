"""Adapters of :class:`blockml.batch.BatchExtractor` to engines that run it on many machines.

One module per engine; each is imported by its own name, as ``blockml.batch.engines.spark``, and needs the engine's
package, which the extra of its name installs.
"""
