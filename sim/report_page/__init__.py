"""A run as one HTML page that needs nothing else: no network, no other file.

``page``     the page as a whole
``layout``   where blocks and streams stand in the drawing
``drawing``  the drawing
``tables``   tables and charts
``player``   the tokens of a short run, cycle by cycle
``timeline`` the states of blocks over time
"""
