// What a player's slip, his pending chips, his favourites and the reckoning of room come to, run by
// Node as they stand. Each check has a name; the first that fails ends the run.

import assert from "node:assert/strict";
import * as favourites from "../../screens/src/pages/player/favourites.ts";
import * as notices from "../../screens/src/pages/player/notices.ts";
import * as pending from "../../screens/src/pages/player/pending.ts";
import { possible, worded } from "../../screens/src/pages/player/refusal.ts";
import { faults, roomAt, spotOf } from "../../screens/src/pages/player/room.ts";
import * as slips from "../../screens/src/pages/player/slip.ts";

const CHECKS = {
  undo_takes_the_last_act_back_and_redo_does_it_again() {
    const one = [{ area: "big", amount: 100 }];
    const two = [{ area: "small", amount: 500 }, { area: "big", amount: -100 }];
    const slip = slips.did(slips.did(slips.EMPTY, one), two);
    const undo = slips.undoing(slip);
    assert.deepEqual(undo.act, [{ area: "big", amount: 100 }, { area: "small", amount: -500 }]);
    assert.deepEqual(slips.redoing(undo.after), { act: two, after: slip });
    assert.equal(slips.redoing(slips.did(undo.after, one)), null);
    assert.equal(slips.undoing(slips.EMPTY), null);
  },

  sets_are_laid_cleared_and_halved_exactly_or_not_at_all() {
    const lying = { big: 400, "total:9": 1000 };
    assert.deepEqual(slips.laid(lying), [{ area: "total:9", amount: 1000 }, { area: "big", amount: 400 }]);
    assert.deepEqual(slips.cleared(lying), [{ area: "big", amount: -400 }, { area: "total:9", amount: -1000 }]);
    assert.deepEqual(slips.halved(lying, () => 100), [{ area: "big", amount: -200 }, { area: "total:9", amount: -500 }]);
    assert.deepEqual(slips.halved({ big: 400, small: 300 }, () => 100), { odd: "small" });
    assert.equal(slips.totalOf(lying), 1400);
  },

  a_chip_is_pending_until_acknowledged_and_counts_once() {
    let ledger = pending.sent([], [{ area: "big", amount: 100 }, { area: "odd", amount: -300 }], ["a", "b"]);
    assert.deepEqual(pending.shown({ odd: 500 }, ledger), { placed: { odd: 200 }, pending: { big: 100, odd: 300 }, spent: 0, going: 100 });
    ledger = pending.acknowledged(ledger, "a", 7);
    assert.deepEqual(pending.shown({ odd: 500 }, ledger), { placed: { odd: 200, big: 100 }, pending: { odd: 300 }, spent: 100, going: 0 });
    assert.equal(pending.caughtUp(ledger, 6), ledger);
    ledger = pending.caughtUp(ledger, 7);
    assert.deepEqual(pending.shown({ odd: 500, big: 100 }, ledger), { placed: { odd: 200, big: 100 }, pending: { odd: 300 }, spent: 0, going: 0 });
    assert.deepEqual(pending.shown({ odd: 500 }, pending.forgotten(ledger, ["b"])), { placed: { odd: 500 }, pending: {}, spent: 0, going: 0 });
  },

  favourites_have_names_of_their_own_and_survive_what_is_no_favourite() {
    let all = [];
    for (let i = 1; i <= 15; i++) all = favourites.added(all, ` Set  ${i} `, { big: 100 * i });
    assert.equal(all.length, 15);
    assert.equal(all[14].name, "Set 15");
    assert.equal(favourites.nameFault(all, "Set 3"), "taken");
    assert.equal(favourites.nameFault(all, "  "), "empty");
    assert.equal(favourites.nameFault(all, "Set 3", "Set 3"), null);
    all = favourites.renamed(all, "Set 3", "Mine");
    assert.equal(favourites.renamed(all, "Mine", "Set 4"), all);
    assert.deepEqual(favourites.read(favourites.written(all)), all);
    assert.equal(favourites.without(all, "Mine").length, 14);
    for (let i = 16; i <= 60; i++) all = favourites.added(all, `Set ${i}`, { big: 1 });
    assert.equal(all.length, favourites.MOST);
    assert.equal(favourites.nameFault(all, "one more"), "full");
    assert.deepEqual(favourites.read("nonsense"), []);
    assert.deepEqual(favourites.read('[{"name":"x","set":{"big":-1}},{"name":"","set":{}},7,{"name":"y","set":{"big":0.5}}]'), []);
  },

  a_set_is_judged_as_a_whole() {
    const act = [{ area: "big", amount: 600 }, { area: "total:9", amount: 100 }];
    const purse = { stack: 700, chip: 100, refuses: true };
    assert.deepEqual(faults(GAME, roomAt(GAME, VIEW, "ann"), purse, act), []);
    assert.deepEqual(kinds({ ...purse, stack: 600 }, act), ["stack"]);
    assert.deepEqual(kinds({ ...purse, chip: 500 }, act), ["chip", "chip"]);
    assert.deepEqual(kinds(purse, [{ area: "big", amount: 700 }]), ["maximum"]);
    assert.deepEqual(kinds({ ...purse, refuses: false }, [{ area: "big", amount: 700 }]), []);
    assert.deepEqual(kinds(purse, [{ area: "small", amount: 100 }]), ["minimum"]);
    assert.deepEqual(kinds(purse, [{ area: "gone", amount: 100 }]), ["unknown"]);
    assert.deepEqual(kinds(purse, [{ area: "odd", amount: 100 }]), ["step"]);
    // taking half of 200 back leaves less than the minimum; taking all of it does not
    assert.deepEqual(kinds(purse, [{ area: "big", amount: -100 }]), ["minimum"]);
    assert.deepEqual(kinds(purse, [{ area: "big", amount: -200 }]), []);
  },

  both_ends_of_a_box_share_its_room_unless_the_reading_says_otherwise() {
    assert.equal(spotOf(GAME, "big@left"), "big");
    const apart = structuredClone(GAME);
    apart.conduct.limits.areas = "per-area";
    assert.equal(spotOf(apart, "big@left"), "big@left");
    const act = [{ area: "big@left", amount: 400 }, { area: "big@right", amount: 400 }];
    assert.deepEqual(kinds({ stack: 9000, chip: 100, refuses: true }, act), ["maximum"]);
  },

  a_refusal_is_worded_with_amounts_as_people_write_them() {
    const refused = {
      message: "500 is more than fits: 300 of 1000 (3.5, 5.1)",
      clause: ["3.5", "5.1"],
      facts: { amount: 500, room: 300, maximum: 1000 },
    };
    assert.equal(worded(refused, (amount) => `$${amount / 100}`), "$5 is more than fits: $3 of $10");
    assert.deepEqual(possible(refused), { key: "fits", amount: 300 });
    assert.deepEqual(possible({ ...refused, facts: { room: 0 } }), { key: "fits-nothing", amount: 0 });
    const plain = { message: "choose 3 different dice of the 5 offered", clause: [], facts: { chosen: 3, offered: 5 } };
    assert.equal(worded(plain, () => "?"), plain.message);
    assert.equal(possible(plain), null);
  },

  a_notice_is_told_once_and_stays_until_it_is_read() {
    const line = (what, round, note = "", at = 1000) => ({ at, table: "7", what, round, amount: 0, note });
    const lines = [line("won", 1), line("void", 2, "dice-damaged"), line("notice", 3, "goes on"), { ...line("void", 4), table: "8" }];
    const found = notices.inStatement(lines, "7", 2000);
    assert.deepEqual(found.map((each) => each.id), ["void 2", "goes-on 3"]);
    let kept = found.reduce(notices.told, notices.NONE);
    kept = found.reduce(notices.told, kept);
    assert.equal(kept.open.length, 2);
    kept = notices.dismissed(kept, "void 2");
    kept = found.reduce(notices.told, notices.read(JSON.stringify(kept)));
    assert.deepEqual(kept.open.map((each) => each.id), ["goes-on 3"]);
    assert.deepEqual(notices.inStatement(lines, "7", 1000 + notices.NEWS_MICROSECONDS), []);
    assert.equal(notices.read("{}"), notices.NONE);
  },
};

const box = (id, unit = 1) => ({ id, unit, ends: [""] });
const GAME = {
  boxes: [box("big"), box("small"), box("total:9"), box("odd", 20)],
  conduct: {
    limits: {
      areas: "shared",
      maximum: { scope: "box", clause: "3.5" },
      minimum: { scope: "player", clause: "5.2" },
      differential: { pairs: [["big", "small"]] },
    },
  },
};
const VIEW = {
  chips: [100, 500],
  limits: {
    families: { big: { minimum: 200, maximum: 1000 }, small: { minimum: 200, maximum: 1000 }, total: { minimum: 100, maximum: 500 }, odd: { minimum: 100, maximum: 9000 } },
    boxes: {},
    differential: { big: 1000 },
  },
  round: { totals: { big: 400 } },
  seats: { ann: { bets: { big: 200 } } },
};
const kinds = (purse, act) => faults(GAME, roomAt(GAME, VIEW, "ann"), purse, act).map((fault) => fault.kind);

CHECKS[process.argv[2]]();
