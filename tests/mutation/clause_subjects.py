"""The data that carries the subject of a clause, where its citations do not tell.

A table may cite several clauses, and a clause may be cited by several tables, some of them only
because they have to do with it. The proof of a clause that is listed here changes these keys;
`by+dealer` adds the dealer to the roles.
"""

from __future__ import annotations

SUBJECTS = {
    "triple-dice 3": "people.acts.bet.by+dealer",
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
    "sg-rws-tai-sai-v6 1.7": "procedure.order",
    "sg-rws-tai-sai-v6 3.6": "procedure.order",
    "sg-rws-tai-sai-v6 3.9": "procedure.order",
    "sg-rws-tai-sai-v6 5.1": "limits.maximum.scope",
    "sg-rws-tai-sai-v6 5.1.1": "limits.maximum.unnoticed limits.pro_rata",
    "sg-rws-tai-sai-v6 5.1.2": "limits.pro_rata",
    "sg-rws-tai-sai-v6 5.4": "irregularities.interruption.consequence",
    "sg-rws-tai-sai-v6 5.4.1": "irregularities.interruption.consequence",
    "sg-rws-tai-sai-v6 5.5": "irregularities.dice-not-flat.consequence",
    "sg-rws-tai-sai-v6 5.5.1": "procedure.steps.tumble.at_least",
    "sg-rws-tai-sai-v6 5.5.3": "irregularities.exposed-before-close",
    "sg-rws-tai-sai-open-cover-v5 5.5.3": "irregularities.tumbled-before-close",
    "sg-rws-tai-sai-v6 5.12": "procedure.void.bets irregularities.dice-not-flat.bets",
    "nz-tai-sai-2008 3.3(a)(iii)": "equipment.terminal.detail.echo",
}
