"""The C function around the firings of a block: a plain kernel, and fast paths.

``plain``   the kernel that fires a block one firing at a time
``paths``   fast paths, each of which changes parts of it: see README.md in ``sim.compiled``
``source``  puts the two together
"""
