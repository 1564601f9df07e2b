"""Where the cycles of a run went: why each firing came when it did, and what follows from that.

``log``            what an engine keeps of a run: the waits of its blocks and their requests
``causes``         from that, for each firing that waited, the one that it waited for
``critical_path``  the causes walked back from the end of the run
``shares``         the cycles of each block: busy, starved or blocked by whose fault, memory, done
"""
