"""``custard serve``: a local page to try expressions on.

``command``   the command, which starts the server
``app``       the server: the requests it answers, and from whom
``jobs``      work in processes of their own, bounded and cancelled
``work``      the work of these processes: compile and run
"""
