"""From the step of a block to its residual code, by partial evaluation.

A step is a small Python function (``sam.blocks.base``). It is evaluated with its ports, its
parameters and the shape of its memory known; tokens, state and the contents of memory stay open.
The C that is left is one firing: see ``sim.compiled.residual``.
"""
