"""Programs of TACO's users, read from files and run on a target, each against dense numpy.

``entries``   the programs in a file
``inputs``    the inputs that a program runs on
``attempts``  one program on all its inputs, and its outcome
``runs``      many programs in processes, whose outcomes a file keeps
"""
