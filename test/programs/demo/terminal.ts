import { createLogUpdate } from "log-update";
import { isEvent, type DemoEvent } from "./demo-event.ts";
import type { EventLog } from "./event-log.ts";
import { memberStretchesOf } from "./member-timeline.ts";
import { Narrator, seconds, type Line } from "./narration.ts";
import { paint, termStyle, type Style } from "./paint.ts";
import { summaryText } from "./summary-text.ts";
import { reignsOf, stretchesOf, type Stretch } from "./timeline.ts";
import type { View } from "./view.ts";

const REDRAW_MS = 100;
const BAR_WIDTH = 24;
const MIN_COLUMNS = 40;
const MIN_ROWS = 10;
const TONES: Record<Exclude<Line["tone"], "plain" | "leader">, Style> = { faint: "dim", trouble: "red", relief: "green" };

/** Shows the demo to people: one line for each event and, on a terminal, the present state of each process below. */
export class TerminalView implements View {
  readonly #log: EventLog;
  readonly #narrator = new Narrator();
  #live = isRoomy(process.stdout) ? createLogUpdate(process.stdout) : undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #leaseDurationMs = 0;
  #phase = 0;

  constructor(log: EventLog) {
    this.#log = log;
    if (this.#live) this.#timer = setInterval(() => this.#redraw(), REDRAW_MS);
  }

  show(event: DemoEvent): void {
    if (isEvent(event, "demo")) this.#leaseDurationMs = event.leaseDurationMs;
    const text = this.#textOf(event);
    if (text === undefined) return;
    if (this.#live) {
      this.#live.persist(text);
      this.#redraw();
    } else {
      process.stdout.write(`${text}\n`);
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#live?.clear();
    // Show the cursor again.
    this.#live?.done();
    this.#live = undefined;
  }

  #textOf(event: DemoEvent): string | undefined {
    const line = this.#narrator.tell(event);
    if (isEvent(event, "demo")) {
      const title = paint("bold", `Leasehold demo: ${event.cast}, one election, at most one leader.`);
      return `${title}\nA lease of ${event.leaseDurationMs / 1_000} s on ${event.store} (${event.place}).`;
    }
    if (isEvent(event, "phase")) {
      this.#phase += 1;
      return `\n${paint("bold", `${this.#phase}. ${event.title}.`)} ${event.explanation}`;
    }
    if (isEvent(event, "summary")) {
      // No process runs any more.
      this[Symbol.dispose]();
      return summaryText(event, paint);
    }
    if (!line) return undefined;
    const who = paint("bold", (event.candidate ?? memberOf(event)).padEnd(9));
    const quote = line.quote === undefined ? "" : `\n${" ".repeat(21)}${paint("dim", line.quote)}`;
    return `${paint("dim", seconds(event.at).padStart(7))}  ${who} ${painted(line, event.term)}${quote}`;
  }

  #redraw(): void {
    const now = this.#log.now();
    const present = stretchesOf(this.#log.events, now).filter(({ to }) => to === now);
    const lanes = present.toSorted((a, b) => a.candidate.localeCompare(b.candidate)).map((stretch) => this.#lane(stretch, now));
    const { waitingFor } = this.#log;
    const waiting = waitingFor ? `waiting for ${waitingFor.what}, ${seconds(now - waitingFor.since)}` : "";
    this.#live?.(["", ...lanes, ...this.#stores(now), paint("dim", `  ${waiting}`)].join("\n"));
  }

  /** Returns a line of the stores that keep the lease together, if there are several. */
  #stores(now: number): readonly string[] {
    const [demo] = this.#log.events;
    if (!demo || !isEvent(demo, "demo") || demo.members.length === 0) return [];
    const present = memberStretchesOf(this.#log.events, now).filter(({ to }) => to === now);
    const states = demo.members.map((name) => {
      const state = present.find(({ member }) => member === name)?.state;
      if (state === "up") return paint("green", `${name} up`);
      return state === "empty" ? paint("yellow", `${name} empty`) : paint("red", `${name} DEAD`);
    });
    return [`  ${paint("bold", "stores".padEnd(9))} ${states.join("   ")}`];
  }

  #lane({ candidate, state, term }: Stretch, now: number): string {
    const who = paint("bold", candidate.padEnd(9));
    if (state === "standby") return `  ${who} ${paint("dim", "stands by")}`;
    const ledTerm = reignsOf(this.#log.events).findLast((each) => each.candidate === candidate);
    const leftMs = Math.max((ledTerm?.to ?? now) - now, 0);
    const filled = Math.round((leftMs / this.#leaseDurationMs) * BAR_WIDTH);
    const bar = "█".repeat(filled) + "░".repeat(BAR_WIDTH - filled);
    if (state === "frozen")
      return `  ${who} ${paint("dim", `frozen         ${bar} would count itself out in ${seconds(leftMs)}`)}`;
    return `  ${who} ${paint(termStyle(term ?? 1), `leads, term ${term}  ${bar}`)} valid for another ${seconds(leftMs)}`;
  }
}

/** Returns the store of the event, if there are several stores. */
function memberOf(event: DemoEvent): string {
  return isEvent(event, "member-killed", "member-started", "member-healed") ? event.member : "";
}

/** Reports whether there is a terminal with room for the lanes. On some CI systems a terminal has no size. */
function isRoomy({ isTTY, columns, rows }: NodeJS.WriteStream): boolean {
  return isTTY && columns >= MIN_COLUMNS && rows >= MIN_ROWS;
}

function painted({ text, tone }: Line, term: number | null): string {
  if (tone === "plain") return text;
  return paint(tone === "leader" ? termStyle(term ?? 1) : TONES[tone], text);
}
