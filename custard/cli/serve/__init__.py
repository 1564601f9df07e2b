"""``custard serve``: a local page to try expressions on.

``command``   the command, which starts the server
``app``       the server: who may ask, and what
``jobs``      work in processes of their own, bounded and cancelled
``work``      what these processes do: compile and run
"""
