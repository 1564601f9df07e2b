"""The fast paths of kernels, one file each. ``sim.compiled.kernel.source`` lists them."""
