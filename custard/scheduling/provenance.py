"""Programs in derived variables: accesses and formats after ``split``, ``fuse`` and ``pos``.

A schedule derives loops from the variables that the user wrote (``sam.derivations``). This file
rewrites the program accordingly: each access to a tensor with such a variable becomes an access to
the tensor stored by the derived variables, with a level for each. The lowering then need not know
where variables come from; ``Derived.attach`` tells a graph how to fill its slots, and how to put
its result together.

The last tile of a split may be cut off: its loops then go through points beyond the extent. Tensors
have no entries there, so such points matter only in a sum of terms that do not vanish without
entries, as in sum(i, b(i) + 2). Such a sum gets a ``cin.Mask`` as a factor, which is 1 within the
extent.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from custard.ir import cin
from custard.ir.resolution import resolved
from custard.language.formats import Format, unconditional_levels
from sam.derivations import Derivation, Fuse, Rename, Share, Split, parts, replaced
from sam.graph import Graph, Slot
from sam.subscripts import Affine
from sam.support.errors import UserError


@dataclass(frozen=True)
class View:
    """A tensor as an access reads it, with its subscripts; None for a mask.

    ``computed``  by mode the user's form of a computed subscript, else None. A tensor with computed
                  subscripts is stored as it is, and only its forms are in derived variables; its
                  other ``subscripts`` are variables that get their extents from its modes
    ``shares``    the shares of its entries, which are modes before the others
    """

    tensor: str | None
    subscripts: tuple[str, ...]
    computed: tuple[Affine | None, ...] = ()
    shares: tuple[str, ...] = ()


@dataclass(frozen=True)
class Derived:
    """A program in derived variables.

    ``formats``  of each tensor that the program names
    ``views``    by name of the program the view that it stands for; the user's own tensors have
                 none
    ``asked``    the format that the user wants the result in
    """

    program: cin.LoopProgram
    formats: Mapping[str, Format]
    asked: Format
    derivations: tuple[Derivation, ...] = ()
    views: Mapping[str, View] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def tensor(self, name: str) -> str:
        """The user's name for a tensor of the program."""
        return self.views[name].tensor or name if name in self.views else name

    def attach(self, graph: Graph) -> Graph:
        """A graph of the program, with the derivations of its slots."""
        if not self.views:  # no tensor has a derived variable; loops may
            return replace(graph, derived=self.derivations)
        result = graph.result
        if result is not None:
            around = None if result.around is None else self.tensor(result.around)
            result = replace(result, slot=self._slot(result.slot), around=around)
            if self.program.target.tensor in self.views:
                order = self.asked.mode_order
                result = replace(result, levels=self.asked.levels, mode_order=order)
        slots = tuple(map(self._slot, graph.slots))
        return replace(graph, slots=slots, result=result, derived=self.derivations)

    def _slot(self, slot: Slot) -> Slot:
        view = self.views.get(slot.tensor or "")
        if view is None:
            return slot
        if view.computed:
            forms = tuple(view.computed[group[0]] for group in slot.modes)
            pairs = zip(slot.variables, slot.modes, forms, strict=True)
            variables = tuple(
                name if form else view.subscripts[modes[0]] for name, modes, form in pairs
            )
            return replace(slot, tensor=view.tensor, variables=variables, computed=forms)
        constant = 1 if view.tensor is None else None
        return replace(
            slot,
            tensor=view.tensor,
            subscripts=view.subscripts,
            constant=constant,
            shares=view.shares,
        )


def derive(
    program: cin.LoopProgram,
    derivations: Sequence[Derivation],
    loops: Sequence[str],
    formats: Mapping[str, Format],
) -> Derived:
    """A program with its variables replaced by the variables derived from them.

    ``loops`` are the derived variables, outermost first, by their bases. A tensor with derived
    variables is stored in the order of the loops: a level of a split mode becomes two of its
    format, two levels that are fused become one, compressed unless both have one format.
    """
    asked = formats[program.target.tensor]
    if not derivations:
        return Derived(resolved(cin.reordered(program, loops)), formats, asked)
    return _Rewriting(program, tuple(derivations), loops, formats).derived(asked)


class _Rewriting:
    """The state of one rewriting: the views so far."""

    def __init__(
        self,
        program: cin.LoopProgram,
        derivations: tuple[Derivation, ...],
        loops: Sequence[str],
        formats: Mapping[str, Format],
    ) -> None:
        self.program, self.derivations, self.loops = program, derivations, loops
        self.given, self.formats = formats, dict(formats)
        self.views: dict[str, View] = {}
        self.shares: dict[str, tuple[str, ...]] = {}
        self.notes: dict[str, None] = {}
        accesses = [node for node in cin.walk(program.value) if isinstance(node, cin.Access)]
        self.plain = {
            access.tensor
            for access in (program.target, *accesses)
            if self.variables(cin.free_variables(access)) == cin.free_variables(access)
            and not shares_of(access, self.derivations)
        }

    def derived(self, asked: Format) -> Derived:
        program = self.program
        target = self.access(program.target)
        value = self.expression(program.value)
        for share in self.shares:
            value = summed_over(value, share)
        loops = dict.fromkeys(target.variables)
        for node in cin.walk(value):
            if isinstance(node, cin.Access | cin.Reduce):
                used = cin.free_variables(node) if isinstance(node, cin.Access) else node.variables
                loops.update(dict.fromkeys(used))
        ordered = tuple(v for name in self.loops for v in loops if cin.base(v) == name)
        program = replace(program, loops=ordered, target=target, value=value)
        program = resolved(program)
        formats, notes = self.formats, tuple(self.notes)
        return Derived(program, formats, asked, self.derivations, self.views, notes)

    def variables(self, variables: Sequence[str]) -> tuple[str, ...]:
        return replaced(variables, self.derivations)

    def expression(self, node: cin.Expression) -> cin.Expression:
        match node:
            case cin.Access():
                return self.access(node)
            case cin.Reduce(variables, operand):
                inside = self.expression(operand)
                for variable in variables:
                    if self.overruns(variable) and not vanishes(operand, variable):
                        inside = self.masked(variable, inside)
                return cin.Reduce(self.variables(variables), inside)
        return cin.with_children(node, self.expression)

    def overruns(self, variable: str) -> bool:
        """Whether a variable is split, so that a last tile may have places beyond its extent."""
        names = [cin.base(variable)]
        for derivation in self.derivations:
            if isinstance(derivation, Split) and derivation.variable in names:
                return True
            names = derivation.replaced(names)
        return False

    def masked(self, variable: str, operand: cin.Expression) -> cin.Expression:
        """An operand where a variable is within its extent."""
        subscripts = (cin.base(variable),)
        inside = self.variables((variable,))
        name = next((n for n, v in self.views.items() if v == View(None, subscripts)), None)
        if name is None:
            name = _unused(f"mask_{subscripts[0]}", [*self.formats, *self.views])
            self.views[name] = View(None, subscripts)
            order = self.order(inside)
            outer = "d" * (len(inside) > 1)
            self.formats[name] = Format(outer + "s" * (len(inside) - len(outer)), order)
            self.notes[f"sums over {subscripts[0]} mask the padding of the last tile"] = None
        return cin.Multiply((cin.Mask(name, inside), operand))

    def access(self, access: cin.Access) -> cin.Access:
        if access.computed:
            return self.computed(access)
        shares = [one for one in shares_of(access, self.derivations) if self.shared(access, one)]
        names = tuple(share.share for share in shares)
        primes = [_primes(access, share.variables[-1]) for share in shares]
        own = self.variables(list(map(operator.add, names, primes)))
        variables = own + self.variables(access.variables)
        if variables == access.variables:
            return access
        view = View(access.tensor, tuple(map(cin.base, access.variables)), (), names)
        name = next((name for name, known in self.views.items() if known == view), None)
        if name is None:
            name = _unused(access.tensor, [*self.views, *self.plain])
            form = self.format(self.given[access.tensor], view.subscripts, shares)
            self.views[name] = view
            if shares or not self.only_renamed(view.subscripts):
                self.note(access, variables, form)
            self.formats[name] = form
        return cin.Access(name, variables)

    def shared(self, access: cin.Access, share: Share) -> bool:
        """Whether an access is stored by a share; all such accesses number their entries alike."""
        numbered = tuple(one + _primes(access, one) for one in share.variables)
        names = self.variables([share.share + _primes(access, share.variables[-1])])
        return all(self.shares.setdefault(name, numbered) == numbered for name in names)

    def computed(self, access: cin.Access) -> cin.Access:
        """An access with computed subscripts, its forms in terms of derived variables.

        The tensor stays as it is stored, so a split variable becomes a form, too.
        """
        used = cin.free_variables(access)
        if self.variables(used) == used:
            return access
        forms = [access.form(mode) for mode in range(len(access.variables))]
        found = tuple(
            None
            if form is None and self.only_renamed((variable,))
            else self.form(access, form or Affine(variable))
            for variable, form in zip(access.variables, forms, strict=True)
        )
        variables = tuple(
            self.variables((variable,))[0] if form is None else form.variable
            for variable, form in zip(access.variables, found, strict=True)
        )
        if isinstance(access, cin.Unit):
            return replace(access, variables=variables, computed=found)
        user = tuple(
            form and form.renamed({v: cin.base(v) for v in form.variables}) for form in forms
        )
        names = tuple(
            cin.base(new if own is None else old)
            for old, new, own in zip(access.variables, variables, found, strict=True)
        )
        view = View(access.tensor, names, user)
        name = next((name for name, known in self.views.items() if known == view), None)
        if name is None:
            name = _unused(access.tensor, [*self.views, *self.plain])
            self.views[name], self.formats[name] = view, self.given[access.tensor]
        return cin.Access(name, variables, found)

    def form(self, access: cin.Access, form: Affine) -> Affine:
        """A form in terms of derived variables: a split variable is tile * size + place."""
        terms = dict(form.coefficients())
        for derivation in self.derivations:
            for variable in list(terms):
                base, primes = parts(variable)
                if base not in derivation.sources:
                    continue
                scale = terms.pop(variable)
                outer, *inner = (name + primes for name in derivation.results)
                if isinstance(derivation, Rename):
                    terms[outer] = scale
                elif isinstance(derivation, Split) and not derivation.counts:
                    terms[outer], terms[inner[0]] = scale * derivation.size, scale
                else:
                    what = "divided" if isinstance(derivation, Split) else "fused"
                    why = f"it is part of the computed subscript {form} of {access.tensor}"
                    if form == Affine(variable):
                        why = f"{access} has another subscript, which is computed"
                    raise UserError(
                        f"{base} cannot be {what}: {why}",
                        hint=f"split({base},{base}0,{base}1,16) has tiles whose size is known",
                    )
        *others, (last, scale) = terms.items()
        return Affine(last, scale, tuple(others), form.constant)

    def format(
        self, stored: Format, subscripts: tuple[str, ...], shares: Sequence[Share] = ()
    ) -> Format:
        """The format of a tensor whose subscripts are derived variables.

        Levels inside of a share are compressed: the share has few of the coordinates.
        """
        if not shares and self.only_renamed(subscripts):
            return stored
        names = [*(share.share for share in shares), *subscripts]
        levels = unconditional_levels(stored.levels)
        codes = [levels[stored.mode_order.index(mode)] for mode in range(len(subscripts))]
        inside = {variable for share in shares for variable in share.variables[share.above :]}
        codes = ["s" if name in inside else code
                 for name, code in zip(subscripts, codes, strict=True)]  # fmt: skip
        codes = ["s"] * len(shares) + codes
        for derivation in self.derivations:
            codes = _codes(derivation, names, codes)
            names = derivation.replaced(names)
        order = self.order(names)
        return Format("".join(codes[mode] for mode in order), order)

    def only_renamed(self, subscripts: tuple[str, ...]) -> bool:
        """Whether the derivations only rename some subscripts."""
        known = _all(subscripts, self.derivations)
        return all(isinstance(one, Rename) or not known & {*one.sources}
                   for one in self.derivations)  # fmt: skip

    def order(self, variables: Sequence[str]) -> tuple[int, ...]:
        """The modes of some variables in the order of the loops."""
        places = [self.loops.index(cin.base(variable)) for variable in variables]
        return tuple(sorted(range(len(places)), key=places.__getitem__))

    def note(self, access: cin.Access, variables: Sequence[str], form: Format) -> None:
        by = ", ".join(variables[mode] for mode in form.mode_order)
        how = f"{form.levels} by {by}"
        if access is self.program.target:
            self.notes[f"{access} is written as {how}, then put together"] = None
        else:
            self.notes[f"{access} is stored as {how} before the run"] = None


def _primes(access: cin.Access, variable: str) -> str:
    """The primes of a variable in an access, which has it once."""
    return next(parts(one)[1] for one in access.variables if parts(one)[0] == variable)


def shares_of(access: cin.Access, derivations: Iterable[Derivation]) -> list[Share]:
    """The shares of entries that an access is stored by."""
    subscripts = tuple(map(cin.base, access.variables))
    return [
        one
        for one in derivations
        if isinstance(one, Share) and (one.tensor, one.subscripts) == (access.tensor, subscripts)
    ]


def summed_over(node: cin.Expression, share: str) -> cin.Expression:
    """A node with the sum over a share, as far outside as possible: entries in no share are zero,
    and each point is in one share alone."""
    if not any(isinstance(one, cin.Access) and share in one.variables for one in cin.walk(node)):
        return node
    if not _distributes(node, share):
        return cin.with_children(node, lambda child: summed_over(child, share))
    if isinstance(node, cin.Reduce):
        return cin.Reduce((share, *node.variables), node.operand)
    return cin.Reduce((share,), node)


def _distributes(node: cin.Expression, share: str) -> bool:
    """Whether a node is the sum of its values in all shares."""

    def has(one: cin.Expression) -> bool:
        return any(isinstance(n, cin.Access) and share in n.variables for n in cin.walk(one))

    match node:
        case cin.Access():
            return share in node.variables
        case cin.Add(terms):
            return all(_distributes(term, share) for term in terms)
        case cin.Negate(operand) | cin.Reduce(_, operand):
            return _distributes(operand, share)
        case cin.Multiply(factors) if not cin.divides(node):
            sharing = [factor for factor in factors if has(factor)]
            at_a_point = not any(isinstance(n, cin.Reduce) for f in sharing for n in cin.walk(f))
            alone = len(sharing) == 1 or at_a_point
            return alone and any(_distributes(factor, share) for factor in sharing)
        case cin.Divide(numerator, denominator):
            return not has(denominator) and _distributes(numerator, share)
    return False


def vanishes(node: cin.Expression, variable: str) -> bool:
    """Whether a node is zero wherever all tensors that have a variable are."""
    match node:
        case cin.Access(_, variables):
            plain = (v for mode, v in enumerate(variables) if node.form(mode) is None)
            return variable in plain
        case cin.Add(terms):
            return all(vanishes(term, variable) for term in terms)
        case cin.Multiply(factors):
            return not cin.divides(node) and any(vanishes(one, variable) for one in factors)
        case cin.Negate(operand) | cin.Reduce(_, operand):
            return vanishes(operand, variable)
        case cin.Divide(numerator, _):
            return not cin.divides(node) and vanishes(numerator, variable)
    return False


def _codes(derivation: Derivation, names: Sequence[str], codes: Sequence[str]) -> list[str]:
    """The level formats by mode after a derivation."""
    found: list[str] = []
    by_name = dict(zip(names, codes, strict=True))
    for name, code in zip(names, codes, strict=True):
        if isinstance(derivation, Fuse) and name in derivation.sources:
            if name == derivation.outer:
                found.append(code if code == by_name[derivation.inner] else "s")
        else:
            split = isinstance(derivation, Split) and name == derivation.variable
            found += [code] * (2 if split else 1)
    return found


def _all(names: Iterable[str], derivations: Iterable[Derivation]) -> set[str]:
    """The names, with the names derived from them."""
    found = set(names)
    for derivation in derivations:
        if found & {*derivation.sources}:
            found |= {*derivation.results}
    return found


def _unused(name: str, taken: Collection[str]) -> str:
    """The name, or one with primes where it is taken."""
    while name in taken:
        name += "'"
    return name
