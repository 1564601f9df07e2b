"""Workspaces: temporary tensors that take values in any order, and give them back in order.

``dense``    an array of all values of some dimensions, and a bit-tree of those that are set
``located``  the same for a vector that is filled once, and then located in
``sparse``   components that are inserted, sorted and merged (Zhang et al., PLDI 2024, Section 5):
             in a list, in buckets or in a hash table

Each is an ``Output``, and then a tensor whose levels have level functions. ``taxonomy`` tells what
kind of workspace a program needs, ``choice`` which of them is cheapest.
"""

from custard.to_c.workspaces.base import Keyed, Workspace, WorkspaceOutput
from custard.to_c.workspaces.dense import DenseWorkspace
from custard.to_c.workspaces.located import LocatedWorkspace
from custard.to_c.workspaces.sparse import SparseWorkspace

__all__ = [
    "DenseWorkspace",
    "Keyed",
    "LocatedWorkspace",
    "SparseWorkspace",
    "Workspace",
    "WorkspaceOutput",
]
