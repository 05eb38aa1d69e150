import { publishState, type ElectorState } from "../reporting/diagnostics.ts";
import { Listeners } from "../reporting/listeners.ts";
import type { Journal } from "../reporting/journal.ts";
import { isoOf, holderElapsedMs, instantOf, type Clock, type Instant } from "../time/clock.ts";
import { publishEvent, publishLook, type ElectorHandle, type Published, type PublishedEvent } from "./elector-channels.ts";
import type { ElectorEvents } from "./elector-events.ts";
import { lineOf } from "./event-lines.ts";
import type { Leader } from "./leadership.ts";
import { leaderOf } from "./observer.ts";
import type { Blocker, LeaseSnapshot } from "../store/lease-snapshot.ts";

export interface AnnouncementsOptions {
  readonly elector: ElectorHandle;
  readonly clock: Clock;
  readonly journal: Journal;
}

export interface LastSeen {
  readonly leader: Leader | undefined;
  readonly ageMs: number;
}

export interface Reached {
  readonly state: ElectorState;
  readonly term?: number | undefined;
  readonly reason?: Error | undefined;
}

/** Reports one elector: its events to its listeners and its journal, its states to the diagnostics channel. */
export class ElectorReporter {
  readonly #options: AnnouncementsOptions;
  readonly #listeners: Listeners<ElectorEvents>;
  #leader: Leader | undefined;
  #seenAt: Instant | undefined;
  #state: ElectorState = "stopped";
  #warned: string | undefined;
  #pause: string | undefined;
  /** Created once a diagnostics channel has a listener. */
  #weakly: WeakRef<ElectorHandle> | undefined;

  constructor(options: AnnouncementsOptions) {
    this.#options = options;
    this.#listeners = new Listeners((event, error) => {
      if (event !== "listenerFailed") this.emit("listenerFailed", { event, error });
    });
  }

  get leader(): Leader | undefined {
    return this.#leader;
  }

  get lastSeen(): LastSeen | undefined {
    return this.#seenAt && { leader: this.#leader, ageMs: holderElapsedMs(this.#options.clock, this.#seenAt) };
  }

  get state(): ElectorState {
    return this.#state;
  }

  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    return this.#listeners.add(name, listener);
  }

  emit<Name extends keyof ElectorEvents>(name: Name, event: Omit<ElectorEvents[Name], "election">): void {
    const { elector, journal } = this.#options;
    const { election, candidateId } = elector;
    const whole = { election, ...event } as ElectorEvents[Name];
    const { level, message, warning, attributes } = lineOf(name, whole, candidateId);
    const all = { election, candidateId, event: name, ...attributes };
    if (!warning) journal.write(level, message, all);
    // A warning that each poll would repeat is written once.
    else if (message !== this.#warned) journal.warn(warning, level, (this.#warned = message), all);
    this.#listeners.emit(name, whole);
    publishEvent(() => ({ name, event: whole, ...this.#published }) as PublishedEvent);
  }

  saw(snapshot: LeaseSnapshot | undefined): void {
    this.setLeader(leaderOf(snapshot));
    this.#setPause(snapshot?.bar?.kind === "pause" ? snapshot.bar : undefined);
    publishLook(() => ({ election: this.#options.elector.election, snapshot, ...this.#published }));
  }

  setLeader(leader: Leader | undefined): void {
    const before = this.#leader;
    this.#leader = leader;
    this.#seenAt = instantOf(this.#options.clock);
    if (before?.candidateId === leader?.candidateId && before?.term === leader?.term) return;
    this.emit("newLeader", { leader });
  }

  /** Warns once of each pause. Until the pause is lifted, no candidate can follow the present leader. */
  #setPause(pause: Extract<Blocker, { kind: "pause" }> | undefined): void {
    const { elector, journal } = this.#options;
    const { election, candidateId } = elector;
    const since = pause?.sinceMs === undefined ? "" : ` since ${isoOf(pause.sinceMs)}`;
    const message = pause && `'${election}' is paused${since}: ${pause.reason}. No candidate may acquire it until it is resumed.`;
    if (message !== undefined && message !== this.#pause) {
      journal.warn("LEASEHOLD_PAUSED", "warn", message, { election, candidateId, event: "paused" });
    }
    this.#pause = message;
  }

  setState({ state, term, reason }: Reached): void {
    const { elector, clock } = this.#options;
    const { election, candidateId } = elector;
    this.#state = state;
    publishState(() => ({
      election,
      candidateId,
      state,
      ...(term === undefined ? {} : { term }),
      ...(reason === undefined ? {} : { reason: String((reason as Partial<Error> | undefined)?.message ?? reason) }),
      wallMs: clock.wallMs(),
    }));
  }

  get #published(): Published {
    const { elector, clock } = this.#options;
    this.#weakly ??= new WeakRef(elector);
    return { candidateId: elector.candidateId, elector: this.#weakly, monotonicMs: clock.monotonicMs() };
  }
}
