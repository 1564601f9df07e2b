"""Sparse convolutions: what ``experiments/convolution.py`` measures.

``kernels``  kernels in C, beside dense C and scipy
``growth``   kernels in C as extents grow, and beside one that locates each element
``flows``    the loop orders of a layer on SAM
``resnet``   a layer of ResNet, in C and on SAM
``timing``   random arrays, and times
"""
