// Follow the rounds from one player's side: the announcements, the player's bets, losses and winnings, and the
// notices that stay until they are dismissed.

import { get } from "../../api/client.ts";
import type { Event, GameView, TableView } from "../../api/schema.d.ts";
import { announce, bell, call } from "../../lib/announcer.svelte.ts";
import { houseTime } from "../../lib/clock.svelte.ts";
import type { Roll } from "../../lib/dice.ts";
import { money } from "../../lib/money.ts";
import { lose, win } from "../../lib/sounds.svelte.ts";
import { read, write } from "../../lib/storage.ts";
import type { Following } from "../../table/following.svelte.ts";
import { expectedOn, netOf, stakedIn } from "./expected.ts";
import type { Settlement } from "./expected.ts";
import * as notices from "./notices.ts";
import { Reveal } from "./reveal.svelte.ts";
import { spotOf } from "./room.ts";
import type { Lying } from "./slip.ts";
import { isSet, totalOf } from "./slip.ts";
import { announcementOf, callOf } from "../../texts/calls.ts";
import { t } from "../../texts/texts.ts";

/** The result of a player's chips in a round, by area. */
export interface Outcome extends Settlement {
  readonly round: number;
  readonly dice: Roll | null;
  readonly net: number;
  readonly settled: boolean;
}

/** Chips on their way from a losing box to the house, or from the house to a winning box and on to the player. */
export interface Flight {
  readonly area: string;
  readonly amount: number;
  readonly way: "taken" | "paid";
}

export interface Seed {
  readonly round: number;
  readonly seed: string;
  readonly commitment: string;
}

export class Story {
  outcome = $state.raw<Outcome | null>(null);
  /** What the called dice will bring the player; null before the call, or if the server has to work it out. */
  expected = $state.raw<Settlement | null>(null);
  readonly reveal = new Reveal();
  /** The chips that travel next; the page animates them once the dice rest. */
  flights = $state.raw<readonly Flight[]>([]);
  /** Whether the felt still shows the outcome: until the next round begins. */
  showing = $state(false);
  last = $state.raw<Lying>({});
  told = $state.raw<notices.Kept>(notices.NONE);
  seed = $state.raw<Seed | null>(null);
  /** The round during which this page was opened, until it ends. */
  joined = $state(0);
  /** A counter that changes whenever the history should be reloaded. */
  chapters = $state(0);
  /** The last round that ended while this page was open. */
  over = 0;
  private lying: Lying = {};
  private met = false;
  private readonly following: Following;
  private readonly me: string;

  constructor(following: Following, me: string) {
    this.following = following;
    this.me = me;
    this.told = read(this.name("notices"), notices.isKept, notices.NONE);
    this.last = read(this.name("last"), isSet, {});
  }

  start(): () => void {
    const unheard = this.following.onEvent((event, at, view) => this.hear(event, at, view));
    return () => {
      unheard();
      this.reveal.finish();
    };
  }

  /** Take over a full view: the first one, or one after a gap. */
  see(view: TableView): void {
    this.remember(view);
    this.expect(view);
    if (this.met) return;
    this.met = true;
    if (view.round?.done.includes("close-betting")) this.joined = view.round.number;
    void this.readStatement(); // events cover what follows this view, the statement what precedes it
  }

  dismiss(id: string): void {
    this.tell(notices.dismissed(this.told, id));
  }

  private name(what: string): string {
    return `${what}.${this.me}.${this.following.table}`;
  }

  private tell(told: notices.Kept): void {
    this.told = told;
    write(this.name("notices"), told);
  }

  private notify(what: notices.Notice["what"], round: number, amount: number, note: string, at: number): void {
    this.tell(notices.told(this.told, notices.notice(what, round, amount, note, at)));
  }

  private async readStatement(): Promise<void> {
    try {
      const lines = await get("/api/accounts/{player}/statement", { at: { player: this.me }, background: true });
      const news = notices.inStatement(lines, this.following.table, houseTime());
      this.tell(news.reduce(notices.told, this.told));
    } catch {
      // Live events still bring all later news.
    }
  }

  private remember(view: TableView): void {
    const settling = view.round?.done.includes("collect-losers") ?? false;
    if (view.round && !settling) this.lying = view.seats[this.me]?.areas ?? {};
  }

  private hear(event: Event, at: number, view: TableView): void {
    const game = this.following.game;
    this.remember(view);
    switch (event.type) {
      case "RoundStarted":
        this.showing = false;
        this.joined = 0;
        this.expected = null;
        this.reveal.finish();
        break;
      case "BettingOpened":
        call(spoken(game, "open-betting") || t("player.general.place-your-bets"));
        break;
      case "BettingClosed":
        bell();
        call(spoken(game, "close-betting") || t("player.general.no-more-bets"));
        if (totalOf(this.lying)) this.keepLast();
        break;
      case "DiceTumbled":
        this.reveal.tumble();
        break;
      case "ResultCalled":
        call(game ? callOf(game, event.dice) : event.call);
        this.expect(view);
        this.reveal.start(() => this.revealed());
        break;
      case "LosersCollected":
        this.settle(view, {
          lost: this.byArea(
            game,
            event.bets.map(([spot, player]) => [spot, player]),
          ),
        });
        this.travel("taken", this.outcome!.lost);
        break;
      case "AreaPaid":
        this.pay(event, view, game);
        break;
      case "WinnersPaid":
        this.pay(event, view, game);
        this.settled(event, view);
        break;
      case "ShooterWon":
      case "ShooterLost":
        this.shooterEnded(event, view, game);
        break;
      case "ThrowRepeated":
        this.forgetOutcome();
        if (view.seats[this.me]) this.touched("again", view.version, view, 0, event.cause);
        break;
      case "RoundVoided":
        this.voided(event, at, view);
        break;
      case "RoundsReversed":
        for (const [player, amount] of event.transfers)
          if (player === this.me) this.notify("reversed", event.rounds[0] ?? 0, amount, event.cause, at);
        if (this.outcome && event.rounds.includes(this.outcome.round)) this.forgetOutcome();
        this.chapters += 1;
        break;
      case "PlayersNotified":
        if (event.players.includes(this.me) && event.outcome === "goes on")
          this.notify("goes-on", event.round, 0, "", at);
        break;
      case "BetCorrected":
        if (event.player === this.me) this.notify("corrected", event.round, event.amount, event.reason, at);
        this.chapters += 1;
        break;
      case "RulingMade":
        if (event.player === this.me) this.notify("ruling", 0, event.amount, event.reason, at);
        this.chapters += 1;
        break;
      case "DebtRepaid":
        if (event.player === this.me && (event.source === "winnings" || event.source === "buy-in"))
          this.notify("set-off", event.round ?? 0, event.amount, event.source, at);
        break;
      case "BetRejected":
        if (event.player === this.me)
          this.touched(
            "rejected",
            event.number,
            view,
            event.amount,
            `${event.waits ? "waits" : event.limit} ${event.spot}`,
          );
        break;
      case "BetsApportioned":
        for (const [spot, player, stake, plays] of event.bets)
          if (player === this.me) this.touched("apportioned", stake, view, stake - plays, spot);
        break;
      case "LineJudged":
        if (event.player === this.me && !event.accepted)
          this.touched("line", view.version, view, event.amount, event.spot);
        break;
      case "ChipsMoved":
      case "ChipsPutBack":
        if (event.player === this.me)
          this.touched(
            event.type === "ChipsMoved" ? "moved" : "put-back",
            view.version,
            view,
            event.amount,
            `${event.spot} ${event.to_spot}`,
          );
        break;
      case "SeedRevealed":
        this.seed = { round: event.round, seed: event.seed, commitment: view.commitment };
        break;
      default: // the felt shows the other events
    }
  }

  /** Work out what the called dice will bring; from the view, so that an amended call counts. */
  private expect(view: TableView): void {
    const { game } = this.following;
    const roll = view.round?.called;
    const settling = view.round?.done.includes("collect-losers");
    if (game && roll && !settling) this.expected = expectedOn(game, view, this.me, roll);
    else if (!roll) this.expected = null;
  }

  /** Celebrate or console once the dice rest. */
  private revealed(): void {
    if (!this.expected || !stakedIn(this.expected)) return;
    const net = netOf(this.expected);
    const currency = this.following.view?.currency ?? "";
    announce(t("player.story.said-expected", { net: money(net, currency, true) }));
    if (net > 0) win();
    if (net < 0) lose();
  }

  private travel(way: Flight["way"], chips: Lying): void {
    const next = Object.entries(chips).map(([area, amount]) => ({ area, amount, way }));
    this.flights = [...this.flights, ...next.filter(({ amount }) => amount > 0)];
  }

  private keepLast(): void {
    this.last = this.lying;
    write(this.name("last"), this.last);
  }

  private settle(view: TableView, part: Partial<Outcome>): void {
    const round = view.round?.number ?? view.rounds;
    const before = this.outcome?.round === round ? this.outcome : null;
    const blank: Outcome = { round, dice: null, lost: {}, won: {}, winnings: {}, net: 0, settled: false };
    const dice = part.dice ?? view.round?.called ?? before?.dice ?? null;
    this.outcome = { ...(before ?? blank), ...part, dice };
    this.showing = true;
  }

  private pay(
    event: Extract<Event, { type: "AreaPaid" | "WinnersPaid" }>,
    view: TableView,
    game: GameView | null,
  ): void {
    const mine = event.bets.filter(([, player]) => player === this.me);
    const won = this.byArea(
      game,
      mine.map(([spot, player]) => [spot, player]),
    );
    const gains = new Map(mine.map(([spot, , , winnings]) => [spot, winnings]));
    const winnings: Record<string, number> = {};
    for (const area of Object.keys(won)) {
      const spot = game ? spotOf(game, area) : area;
      winnings[area] = gains.get(spot) ?? 0;
      gains.delete(spot); // a spot with chips at both ends is paid once
    }
    this.settle(view, {
      won: { ...this.outcome?.won, ...won },
      winnings: { ...this.outcome?.winnings, ...winnings },
    });
    this.travel("paid", winnings);
  }

  private settled(event: Extract<Event, { type: "WinnersPaid" }>, view: TableView): void {
    this.settle(view, { dice: event.dice, settled: true });
    const net = netOf(this.outcome!);
    this.outcome = { ...this.outcome!, net };
    this.over = event.round;
    this.chapters += 1;
    if (stakedIn(this.outcome)) announce(t("player.story.said-net", { net: money(net, view.currency, true) }));
  }

  private shooterEnded(
    event: Extract<Event, { type: "ShooterWon" | "ShooterLost" }>,
    view: TableView,
    game: GameView | null,
  ): void {
    const box = game?.conduct.shooter?.box;
    if (event.player !== this.me || !event.stake || !box) return;
    if (event.type === "ShooterLost") this.settle(view, { lost: { ...this.outcome?.lost, [box]: event.stake } });
    else {
      const winnings = { [box]: event.winnings };
      this.settle(view, {
        won: { ...this.outcome?.won, [box]: event.stake },
        winnings: { ...this.outcome?.winnings, ...winnings },
      });
      this.travel("paid", winnings);
    }
  }

  private forgetOutcome(): void {
    this.reveal.finish();
    this.expected = null;
    this.flights = [];
    this.outcome = null;
    this.showing = false;
  }

  private voided(event: Extract<Event, { type: "RoundVoided" }>, at: number, view: TableView): void {
    this.joined = 0;
    this.forgetOutcome();
    this.over = event.round;
    this.chapters += 1;
    if (!view.seats[this.me]) return;
    const back = event.returned.reduce((sum, [, player, amount]) => (player === this.me ? sum + amount : sum), 0);
    this.notify("void", event.round, back, event.cause, at);
    announce(t("player.story.said-void", { round: event.round }), true);
  }

  /** Add a notice that may come several times in a round; `id` makes it unique. */
  private touched(
    what: notices.Notice["what"],
    id: string | number,
    view: TableView,
    amount: number,
    note: string,
  ): void {
    const round = view.round?.number ?? view.rounds;
    this.tell(notices.told(this.told, { id: `${what} ${round} ${id} ${note}`, what, round, amount, note }));
  }

  /** Return the player's chips by area on the spots of some bets. */
  private byArea(game: GameView | null, bets: [string, string][]): Lying {
    const spots = new Set(bets.filter(([, player]) => player === this.me).map(([spot]) => spot));
    return Object.fromEntries(
      Object.entries(this.lying).filter(([area]) => spots.has(game ? spotOf(game, area) : area)),
    );
  }
}

const spoken = (game: GameView | null, step: "open-betting" | "close-betting"): string =>
  announcementOf(game?.conduct.procedure.steps[step]?.announces);
