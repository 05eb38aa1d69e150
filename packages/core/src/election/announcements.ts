import { publishState, type ElectorState } from "../reporting/diagnostics.ts";
import { Listeners } from "../reporting/listeners.ts";
import type { Journal } from "../reporting/journal.ts";
import type { Clock } from "../time/clock.ts";
import type { ElectorEvents } from "./elector-events.ts";
import { lineOf } from "./event-lines.ts";
import type { Leader } from "./leadership.ts";

/** The elector whose announcements they are. */
export interface Announcer {
  readonly election: string;
  readonly candidateId: string;
  readonly clock: Clock;
  readonly journal: Journal;
}

/** A state that an elector has come to. */
export interface Reached {
  readonly state: ElectorState;
  readonly term?: number | undefined;
  readonly reason?: Error | undefined;
}

/**
 * Tells others of one elector: events to its listeners and its journal, states to the diagnostics channel, and who leads as far
 * as it knows.
 */
export class Announcements {
  readonly #announcer: Announcer;
  readonly #listeners: Listeners<ElectorEvents>;
  #leader: Leader | undefined;
  #state: ElectorState = "stopped";
  /** The last line that a person was to see. */
  #warned: string | undefined;

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
    this.#listeners = new Listeners((event, error) => {
      if (event !== "listenerFailed") this.emit("listenerFailed", { event, error });
    });
  }

  get leader(): Leader | undefined {
    return this.#leader;
  }

  get state(): ElectorState {
    return this.#state;
  }

  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    return this.#listeners.add(name, listener);
  }

  emit<Name extends keyof ElectorEvents>(name: Name, event: Omit<ElectorEvents[Name], "election">): void {
    const { election, candidateId, journal } = this.#announcer;
    const whole = { election, ...event } as ElectorEvents[Name];
    const { level, message, warning, attributes } = lineOf(name, whole, candidateId);
    const all = { election, candidateId, event: name, ...attributes };
    if (!warning) journal.write(level, message, all);
    // What every look finds again is said once.
    else if (message !== this.#warned) journal.warn(warning, level, (this.#warned = message), all);
    this.#listeners.emit(name, whole);
  }

  setLeader(leader: Leader | undefined): void {
    const before = this.#leader;
    this.#leader = leader;
    if (before?.candidateId === leader?.candidateId && before?.term === leader?.term) return;
    this.emit("newLeader", { leader });
  }

  setState({ state, term, reason }: Reached): void {
    const { election, candidateId, clock } = this.#announcer;
    this.#state = state;
    publishState({
      election,
      candidateId,
      state,
      ...(term === undefined ? {} : { term }),
      ...(reason === undefined ? {} : { reason: String((reason as Partial<Error> | undefined)?.message ?? reason) }),
      wallMs: clock.wallMs(),
    });
  }
}
