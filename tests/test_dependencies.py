"""Dependencies: what is used of them is documented, or their version has an upper bound."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.versions import lowest_versions

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[1]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCES: Final = sorted((ROOT / "src" / "threedice").rglob("*.py"))
UNDOCUMENTED_SUBMODULES: Final = frozenset({"uvicorn"})
"""Packages that document their top module only; elsewhere a leading underscore says private."""

UNSTABLE_SIGNATURES: Final = frozenset({"argon2", "prometheus_client", "pyotp", "zxcvbn"})
"""Packages that make arguments keyword-only without a major version, as PyOTP 2.12 did.

Frameworks such as Litestar, Typer and NumPy document their first optional arguments by position.
"""


def requirements() -> dict[str, Requirement]:
    """Return the requirements of an installation with all extras that are for users."""
    extras = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"]]
    texts += [each for name in ("house", "sim", "cluster", "research") for each in extras[name]]
    return {canonicalize_name(each.name): each for each in map(Requirement, texts)}


def is_foreign(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in sys.stdlib_module_names and top != "threedice"


def imports(tree: ast.Module) -> Iterator[tuple[str, ast.Import | ast.ImportFrom]]:
    """Yield the modules of other packages that a module imports, with the import."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((each.name, node) for each in node.names if is_foreign(each.name))
        elif isinstance(node, ast.ImportFrom) and node.module and is_foreign(node.module):
            yield node.module, node


def is_private(module: str) -> bool:
    top, *inner = module.split(".")
    return bool(inner) and (top in UNDOCUMENTED_SUBMODULES or any(n[0] == "_" for n in inner))


def private_modules() -> dict[str, set[str]]:
    """Return the private modules of other packages that the package imports, by distribution."""
    owners, found = packages_distributions(), defaultdict[str, set[str]](set)
    for file in SOURCES:
        for module, _ in imports(ast.parse(file.read_text(encoding="utf-8"))):
            if is_private(module):
                found[canonicalize_name(owners[module.partition(".")[0]][0])].add(module)
    return dict(found)


def has_upper_bound(requirement: Requirement) -> bool:
    return any(each.operator in ("<", "<=", "==", "~=") for each in requirement.specifier)


# --- private modules ----------------------------------------------------------------------------


def test_package_whose_private_modules_are_imported_has_an_upper_bound() -> None:
    bounded = {name for name, each in requirements().items() if has_upper_bound(each)}

    assert set(private_modules()) == bounded


def test_private_modules_are_imported_from_uvicorn_only() -> None:
    assert private_modules() == {
        "uvicorn": {
            "uvicorn._types",
            "uvicorn.loops.auto",
            "uvicorn.protocols.http.httptools_impl",
            "uvicorn.protocols.utils",
            "uvicorn.protocols.websockets.websockets_sansio_impl",
        }
    }


def test_lowest_versions_are_those_of_pyproject() -> None:
    pinned = dict(each.partition(";")[0].split("==") for each in lowest_versions(PROJECT))
    house = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["house"]]

    assert pinned == {
        each.name: bound.version
        for each in map(Requirement, house)
        for bound in each.specifier
        if bound.operator == ">="
    }
    assert len(pinned) == len(house)


# --- optional arguments -------------------------------------------------------------------------


def optional_arguments_by_position(source: str) -> list[str]:
    """Return the calls of packages with unstable signatures that give options by position."""
    tree = ast.parse(source)
    names = dict(_imported_names(tree))
    return [
        f"{ast.unparse(call)}: {parameter.name}"
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        for parameter in _parameters_by_position(call, names)
        if parameter.default is not parameter.empty
    ]


def _imported_names(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    for module, node in imports(tree):
        if module.partition(".")[0] not in UNSTABLE_SIGNATURES:
            continue
        imported = importlib.import_module(module)
        if isinstance(node, ast.Import):
            yield module, imported
        else:
            yield from (
                (each.asname or each.name, getattr(imported, each.name)) for each in node.names
            )


def _parameters_by_position(call: ast.Call, names: dict[str, Any]) -> list[inspect.Parameter]:
    function = _resolve(call.func, names)
    if function is None:
        return []
    parameters = list(inspect.signature(function).parameters.values())
    is_method = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)
    return parameters[is_method:][: len(call.args)]


def _resolve(node: ast.expr, names: dict[str, Any]) -> Any:
    """Resolve a name, an attribute, or an instance that is created on the spot."""
    match node:
        case ast.Name(id=name):
            return names.get(name)
        case ast.Attribute(value=value, attr=name):
            return getattr(_resolve(value, names), name, None)
        case ast.Call(func=function) if inspect.isclass(found := _resolve(function, names)):
            return found
    return None


def test_optional_arguments_of_unstable_packages_are_given_by_name() -> None:
    found = {
        file.relative_to(ROOT).as_posix(): calls
        for file in SOURCES
        if (calls := optional_arguments_by_position(file.read_text(encoding="utf-8")))
    }

    assert found == {}


def test_optional_argument_by_position_is_noticed() -> None:
    found = optional_arguments_by_position("import pyotp\npyotp.TOTP(s).provisioning_uri(n, i)\n")

    assert found == [
        "pyotp.TOTP(s).provisioning_uri(n, i): name",
        "pyotp.TOTP(s).provisioning_uri(n, i): issuer_name",
    ]
