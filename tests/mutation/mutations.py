"""The mutations of a file: changed operators, numbers, names, conditions, and omitted statements.

Prose (strings with spaces), annotations and decorators do not change.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SWAPS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt), ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv,), ast.FloorDiv: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,), ast.LShift: (ast.RShift,),
    ast.And: (ast.Or,), ast.Or: (ast.And,), ast.Continue: (ast.Break,), ast.Break: (ast.Continue,),
}  # fmt: skip
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "sum": "len"}
UNCHANGED_FIELDS = {"annotation", "returns", "decorator_list"}


def mutable_nodes(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield the parent, field, index and node of every mutable node below one."""
    for field, value in ast.iter_fields(node):
        if field in UNCHANGED_FIELDS or ast.unparse(getattr(node, "test", node)) == "TYPE_CHECKING":
            continue
        for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.Import | ast.ImportFrom):
                yield node, field, i, child
                yield from mutable_nodes(child)


def replacements(node: ast.AST, field: str) -> Iterator[ast.AST]:
    """Yield the nodes that may replace a node."""
    yield from (other() for other in SWAPS.get(type(node), ()))
    yield from _statements(node) if isinstance(node, ast.stmt) else _values(node)
    if field == "ifs":
        yield ast.Constant(True)
    if field == "test" and isinstance(node, ast.Name | ast.Call | ast.Attribute):
        yield ast.UnaryOp(ast.Not(), node)
    if field == "func" and isinstance(node, ast.Name) and node.id in CALLS:
        yield ast.Name(CALLS[node.id], ast.Load())


def _statements(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield ast.Pass()
        case ast.Raise() | ast.AugAssign():
            yield ast.Pass()


def _values(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))
        case ast.Constant(value=str(value)) if not set(value) & {" ", "\n"}:
            yield ast.Constant(value + "XX")
        case ast.BoolOp(values=values):
            for i in range(len(values)):
                rest = [*values[:i], *values[i + 1 :]]
                yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand


def mutants(source: str) -> Iterator[tuple[ast.Module, int, str]]:
    """Yield a file's mutants: the tree with one change, its line number, and the change as text."""
    tree = ast.parse(source)
    for parent, field, i, node in list(mutable_nodes(tree)):
        for other in replacements(node, field):
            line = getattr(node, "lineno", getattr(parent, "lineno", 0))
            whole = node if isinstance(node, ast.expr | ast.stmt) else parent
            was = ast.unparse(whole)
            replace_child(parent, field, i, other)
            now = ast.unparse(whole if whole is parent else other)
            yield copy.deepcopy(tree), line, f"{was} -> {now}"
            replace_child(parent, field, i, node)


def replace_child(parent: ast.AST, field: str, i: int | None, node: ast.AST) -> None:
    if i is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[i] = node
