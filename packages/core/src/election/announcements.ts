import { publishState, type ElectorState } from "../reporting/diagnostics.ts";
import { Listeners } from "../reporting/listeners.ts";
import type { Clock } from "../time/clock.ts";
import type { ElectorEvents } from "./elector-events.ts";
import type { Leader } from "./leadership.ts";

/** The elector whose announcements they are. */
export interface Announcer {
  readonly election: string;
  readonly candidateId: string;
  readonly clock: Clock;
}

/** A state that an elector has come to. */
export interface Reached {
  readonly state: ElectorState;
  readonly term?: number | undefined;
  readonly reason?: Error | undefined;
}

/**
 * Tells others of one elector: events to its listeners, states to the diagnostics channel, and who leads as far as it knows.
 */
export class Announcements {
  readonly #announcer: Announcer;
  readonly #listeners: Listeners<ElectorEvents>;
  #leader: Leader | undefined;

  constructor(announcer: Announcer) {
    this.#announcer = announcer;
    this.#listeners = new Listeners((event, error) => {
      if (event !== "listenerFailed") this.emit("listenerFailed", { event, error });
    });
  }

  get leader(): Leader | undefined {
    return this.#leader;
  }

  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    return this.#listeners.add(name, listener);
  }

  emit<Name extends keyof ElectorEvents>(name: Name, event: Omit<ElectorEvents[Name], "election">): void {
    const { election } = this.#announcer;
    this.#listeners.emit(name, { election, ...event } as ElectorEvents[Name]);
  }

  setLeader(leader: Leader | undefined): void {
    const before = this.#leader;
    this.#leader = leader;
    if (before?.candidateId === leader?.candidateId && before?.term === leader?.term) return;
    this.emit("newLeader", { leader });
  }

  setState({ state, term, reason }: Reached): void {
    const { election, candidateId, clock } = this.#announcer;
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
