"""The data that carries the subject of a clause, where its citations do not tell.

A table may cite several clauses, and a clause may be cited by several tables, some of them only
because they have to do with it. The proof of a clause that is listed here changes these keys.
`key=value` gives the key this value, `key=` removes it, `by+dealer` adds the dealer to the roles.
"""

from __future__ import annotations

SUBJECTS = {
    "macau-sic-bo 3.1": "procedure.steps.tumble.at_least",
    "macau-sic-bo 3.4": "procedure.steps.call-result.as_early_as",
    "macau-sic-bo 3.5": "procedure.steps.pay-winners.as_early_as",
    "macau-sic-bo 6.1": "irregularities.dice-not-flat.consequence=no-later-effect",
    "triple-dice 3": "procedure.steps.call-result.by+supervisor",
    "triple-dice 4": "irregularities.dice-not-flat.consequence",
    "triple-dice 5": "irregularities.dice-not-flat.consequence irregularities.dice-not-flat.bets",
    "triple-dice 7": "procedure.steps.offer-dice procedure.order",
    "triple-dice 7.1": "shooter.must_bet",
    "triple-dice 7.2": "shooter.locked",
    "triple-dice 7.3": "wagers.shooter.wins wagers.shooter.throws",
    "triple-dice 7.4": "wagers.shooter.wins",
    "triple-dice 7.6": "shooter.may_bet_elsewhere",
    "triple-dice 7.7": "irregularities.not-thrown-together.consequence",
    "triple-dice 7.8": "shooter.dice_offered shooter.dice_chosen",
    "triple-dice 8": "people.acts.bet.by",
    "triple-dice 9": "irregularities.dice-not-flat.bets irregularities.dice-not-flat.consequence",
    "sg-rws-tai-sai-v6 1.7": "irregularities.dice-not-flat.found_until",
    "sg-rws-tai-sai-v6 3.6": "irregularities.bet-after-close.consequence=settle-as-placed",
    "sg-rws-tai-sai-v6 3.8": "irregularities.dice-not-flat.consequence=no-later-effect",
    "sg-rws-tai-sai-v6 3.9": "pay_tables.1.rows",
    "sg-rws-tai-sai-v6 3.10": "wagers.small.wins.unless",
    "sg-rws-tai-sai-v6 5.1": "limits.maximum.scope",
    "sg-rws-tai-sai-v6 5.1.1": "limits.maximum.unnoticed",
    "sg-rws-tai-sai-v6 5.1.2": "limits.pro_rata.exempt_below_minimum",
    "sg-rws-tai-sai-v6 5.4": "irregularities.interruption.consequence=void-round",
    "sg-rws-tai-sai-v6 5.4.1": "irregularities.interruption.consequence=void-round",
    "sg-rws-tai-sai-v6 5.4.2": "irregularities.interruption.consequence=no-later-effect",
    "sg-rws-tai-sai-v6 5.5": "irregularities.dice-not-flat.consequence=no-later-effect",
    "sg-rws-tai-sai-v6 5.5.1": "procedure.steps.tumble.at_least",
    "sg-rws-tai-sai-v6 5.5.2": "irregularities.dice-not-flat.consequence=no-later-effect",
    "sg-rws-tai-sai-v6 5.5.3": "irregularities.exposed-before-close.consequence=no-later-effect",
    "sg-rws-tai-sai-open-cover-v5 5.5.3": (
        "irregularities.tumbled-before-close.consequence=no-later-effect"
    ),
    "sg-rws-tai-sai-v6 5.7": "irregularities.bet-after-close.consequence=settle-as-placed",
    "sg-rws-tai-sai-v6 5.10": (
        "procedure.steps.enter-result.optional procedure.steps.illuminate.optional"
    ),
    "sg-rws-tai-sai-v6 5.12": "procedure.void.bets irregularities.dice-not-flat.bets",
    "nz-tai-sai-2008 3.3(a)(iii)": "equipment.terminal.detail.echo",
    "nz-tai-sai-2008 3.3(b)": "procedure.steps.illuminate.equipment",
    "nz-tai-sai-2008 3.4(g)": "equipment.results-display.needed",
    "nz-tai-sai-2008 4.3": "irregularities.bet-on-line.by+dealer",
    "nz-tai-sai-2008 4.5": "people.acts.call-bet=",
    "nz-tai-sai-2008 4.7": "irregularities.bet-after-close.consequence=settle-as-placed",
    "nz-tai-sai-2008 4.7(a)": "irregularities.bet-after-close.consequence=settle-as-placed",
    "nz-tai-sai-2008 4.7(b)": "irregularities.bet-after-close.consequence=settle-as-placed",
    "nz-tai-sai-2008 5.0": "people.acts.open-table.by+dealer",
    "nz-tai-sai-2008 6.2": "procedure.steps.close-betting.by+supervisor",
    "nz-tai-sai-2008 6.4": "procedure.steps.enter-result.as_early_as",
    "nz-tai-sai-2008 6.4(a)": "procedure.steps.enter-result.as_early_as",
    "nz-tai-sai-2008 6.4(b)": "procedure.steps.enter-result.as_early_as",
    "nz-tai-sai-2008 6.5": "procedure.steps.illuminate.optional",
    "nz-tai-sai-2008 6.5(a)": "procedure.steps.collect-losers.as_early_as",
    "nz-tai-sai-2008 6.5(b)": "procedure.steps.pay-winners.as_early_as",
    "nz-tai-sai-2008 7.1": "irregularities.dice-not-flat.found_until",
    "nz-tai-sai-2008 7.1(a)": "irregularities.dice-not-flat.consequence=no-later-effect",
    "nz-tai-sai-2008 7.1(b)": "irregularities.tumbler-fault.consequence=no-later-effect",
    "nz-tai-sai-2008 7.1(c)": "irregularities.exposed-before-close.consequence=no-later-effect",
    "nz-tai-sai-2008 7.1(d)": "irregularities.not-tumbled.consequence=no-later-effect",
    "nz-tai-sai-2008 7.2": "irregularities.wrong-entry.supervised_by",
    "nz-tai-sai-2008 7.4": "irregularities.equipment-malfunction.locks_table",
}
