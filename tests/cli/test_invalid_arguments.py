"""Invalid arguments of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["odds", "sg-rws-tai-sai-v7/a"], "did you mean sg-rws-tai-sai-v6/a"),
        (["odds", "sg-rws-tai-sai-v6/b"], "sg-rws-tai-sai-v6/a"),
        (["odds", "sg-rws-tai-sai-v6"], "sg-rws-tai-sai-v6/a"),
        (["odds", "sg-rws-tai-sai-v6/a", "--box", "bgi"], "did you mean big?"),
        (["odds", "sg-rws-tai-sai-v6/a", "--csv", "--json"], "exclude each other"),
        (["odds", "sg-rws-tai-sai-v6/a", "--html", "/no/such/place.html"],
         "/no/such/place.html: No such file"),
        (["log", "verify", "--database", f"/{'x' * 300}.sqlite"], ": File name too long"),
        (["odds", "sg-rws-tai-sai-v6/a", "--bet", "big=5", "--csv"], "--bet has no --csv"),
        (["odds", "triple-dice", "--reading", "outside"], "give NAME=VALUE"),
        (["odds", "triple-dice", "--reading", "outsid=flat"], "did you mean outside?"),
        (["odds", "triple-dice", "--reading", "outside=flatt"], "did you mean flat?"),
        (["odds", "triple-dice", "--reading", "outside=flat", "--reading", "outside=per-die"],
         "given twice"),
        (["odds", "sg-rws-tai-sai-v6/a", "--reading", "areas=per-area"], "no reading of"),
        (["odds", "./missing.toml/main"], "missing.toml: the file: cannot be read"),
        (["settle", "triple-dice", "--dice", "crown,clb,heart", "--bet", "red=5"],
         "'clb' is not a face"),
        (["settle", "triple-dice", "--dice", "crown,club", "--bet", "red=5"], "2 dice given"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,7", "--bet", "big=5"], "'7' is not a face"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6", "--bet", "bigg=5"],
         "did you mean big?"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6", "--bet", "big"], "give BOX=AMOUNT"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6", "--bet", "big=5.5"], "whole number"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6", "--bet", "big=-5"], "whole number"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6", "--bet", "big=x"], "whole number"),
        (["settle", "triple-dice", "--dice", "1,1,1", "--bet", "shooter=5"], "over 4 throws"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6"], "Missing option"),
        (["rulebooks", "show", "nz-tai-sai-2009"], "did you mean nz-tai-sai-2008"),
        (["rulebooks", "show", "nz-tai-sai-2008/1"], "show its rulebook"),
        (["rulebooks", "check", "triple-dice", "--floor", "abc"], "give a percentage"),
        (["rulebooks", "check", "triple-dice", "--floor", "120"], "from 0 to 100"),
        (["rulebooks", "check", "triple-dice", "--chips", "5,x"], "whole number"),
        (["rulebooks", "check", "triple-dice", "--reading", "x=y"], "no reading of triple-dice"),
        (["rulebooks", "diff", "triple-dice", "sg-rws-tai-sai-v6"], "sg-rws-tai-sai-v6/a"),
        (["rulebooks", "diff", "triple-dice", "crown-and-anchor", "--reading", "x=y"],
         "no reading"),
        (["rulebooks", "--json", "show", "triple-dice"], "put --json after show"),
        (["rulebooks", "diff", "sg-rws-tai-sai-v6/a", "sg-rws-tai-sai-open-cover-v5/a",
          "--reading", "areas=bogus"], "did you mean"),
        (["rulebooks", "check", "triple-dice", "--floor", "0.75"], "under one per cent"),
        (["rulebooks", "check", "triple-dice", "--chips", "2,5"], "not a multiple of the smallest"),
        (["odds", "SG-RWS-TAI-SAI-V6/Z"], "did you mean sg-rws-tai-sai-v6/"),
        (["odds", "sg-rws-tai-sai-v6/a", "--box", "domino:3-1"], "did you mean domino:1-3?"),
        (["odds", "triple-dice", "--box", "red", "--html", "page.html"], "every box"),
        (["odds", "triple-dice", "--box", "red", "--bet", "red=5"], "exclude each other"),
        (["settle", "nz-tai-sai-2008/1", "--dice", "1,3,6", "--bet", "big=" + "9" * 24],
         "at most 18 digits"),
        (["clauses", "nope"], "no rulebook 'nope'"),
        (["cases", "missing.toml"], "missing.toml cannot be read"),
        (["cases", "README.md"], "README.md is not valid TOML"),
        (["nonsense"], "No such command"),
    ],
)  # fmt: skip
def test_invalid_arguments_print_one_line_on_stderr_and_exit_with_2(
    run: Run, words: list[str], message: str
) -> None:
    result = run(*words)

    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("threedice: ")
    assert result.err.count("\n") == 1
    assert message in result.err
