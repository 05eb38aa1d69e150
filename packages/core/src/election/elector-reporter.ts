import { publishState, type ElectorState } from "../reporting/diagnostics.ts";
import { isStoreFailure } from "../reporting/errors.ts";
import { Listeners } from "../reporting/listeners.ts";
import { isoOf, holderElapsedMs, instantOf, type Instant } from "../time/clock.ts";
import { publishEvent, publishLook, type ElectorHandle, type Published, type PublishedEvent } from "./elector-channels.ts";
import type { ElectorEvents } from "./elector-events.ts";
import type { ElectorParts } from "./elector-options.ts";
import { EVENT_LINES } from "./event-lines.ts";
import type { Leader } from "./leadership.ts";
import { leaderOf } from "./observer.ts";
import type { Blocker, LeaseSnapshot } from "../store/lease-snapshot.ts";

/** The exit code of a process that `onOverrun: 'exit'` ends: EX_SOFTWARE of sysexits.h. */
export const OVERRUN_EXIT_CODE = 70;

export interface ElectorReporterOptions extends ElectorParts {
  readonly elector: ElectorHandle;
}

export interface LastSeen {
  readonly leader: Leader | undefined;
  readonly ageMs: number;
}

/** Reports one elector: its events to its listeners and its journal, its states to the diagnostics channel. */
export class ElectorReporter {
  leader: Leader | undefined;
  state: ElectorState = "stopped";
  readonly #options: ElectorReporterOptions;
  readonly #listeners: Listeners<ElectorEvents>;
  #seenAt: Instant | undefined;
  #warned: string | undefined;
  #pause: string | undefined;
  /** Created once a diagnostics channel has a listener. */
  #weakly: WeakRef<ElectorHandle> | undefined;

  constructor(options: ElectorReporterOptions) {
    this.#options = options;
    this.#listeners = new Listeners((event, error) => {
      if (event !== "listenerFailed") this.emit("listenerFailed", { event, error });
    });
  }

  get lastSeen(): LastSeen | undefined {
    return this.#seenAt && { leader: this.leader, ageMs: holderElapsedMs(this.#options.clock, this.#seenAt) };
  }

  on<Name extends keyof ElectorEvents>(name: Name, listener: (event: ElectorEvents[Name]) => unknown): () => void {
    return this.#listeners.add(name, listener);
  }

  emit<Name extends keyof ElectorEvents>(name: Name, event: Omit<ElectorEvents[Name], "election">): void {
    const { elector, journal } = this.#options;
    const { election, candidateId } = elector;
    const whole = { election, ...event } as ElectorEvents[Name];
    const { level, message, warning, attributes } = EVENT_LINES[name](whole, candidateId);
    const all = { election, candidateId, event: name, ...attributes };
    if (!warning) journal.write(level, message, all);
    // A warning that each poll would repeat is written once.
    else if (message !== this.#warned) journal.warn(warning, level, (this.#warned = message), all);
    this.#listeners.emit(name, whole);
    publishEvent(() => ({ name, event: whole, ...this.#published }) as PublishedEvent);
  }

  saw(snapshot: LeaseSnapshot | undefined): void {
    this.#setLeader(leaderOf(snapshot));
    this.#setPause(snapshot?.bar?.kind === "pause" ? snapshot.bar : undefined);
    publishLook(() => ({ election: this.#options.elector.election, snapshot, ...this.#published }));
  }

  began(term: number): void {
    const { elector, wishes } = this.#options;
    const { candidateId } = elector;
    const { value } = wishes;
    this.setState("leading", term);
    this.#setLeader({ candidateId, term, state: "held", ...(value === undefined ? {} : { value }) });
    this.emit("startedLeading", { term });
  }

  renewed(term: number): void {
    this.#options.contact.answered("write");
    this.emit("renewed", { term });
  }

  renewFailed(term: number, error: unknown): void {
    const { contact, journal, timing } = this.#options;
    if (isStoreFailure(error)) {
      contact.failed("write", error);
      contact.report({ journal, leaseDurationMs: timing.leaseDurationMs });
    }
    this.emit("renewFailed", { term, error });
  }

  ending(term: number, reason: Error): void {
    this.setState("ending", term, reason);
    this.emit("ending", { term, reason });
  }

  overrun(term: number, sinceSignalMs: number): void {
    const { elector, journal, wishes } = this.#options;
    this.emit("overrun", { term, sinceSignalMs });
    if (wishes.onOverrun !== "exit") return;
    const message = `leasehold: the task leading '${elector.election}' (term ${term}) is still pending ${Math.round(sinceSignalMs)} ms after its signal aborted; ending this process (onOverrun: 'exit').\n`;
    // Node prints a process warning in a later tick, and this process has exited by then.
    if (!journal.isSilent) process.stderr.write(message);
    process.exit(OVERRUN_EXIT_CODE);
  }

  /** The term's timer ran `forMs` late, and the leadership was lost meanwhile. */
  blocked(term: number, forMs: number): void {
    const { elector, journal } = this.#options;
    const { election } = elector;
    const ms = Math.round(forMs);
    const text = `Leadership of '${election}' (term ${term}) was lost because this process did not run for ${ms} ms or more: its event loop was blocked, or the process was frozen.`;
    journal.warn("LEASEHOLD_BLOCKED", "warn", text, { election, term, blockedMs: ms });
  }

  finished(term: number, reason: Error | undefined, released: boolean): void {
    if (this.leader?.term === term) this.#setLeader(undefined);
    this.emit("stoppedLeading", { term, reason, released });
  }

  /** The task has called `stop` or `resign` itself, and has not returned since. */
  waitsForItself(term: number, call: "stop" | "resign"): void {
    const { elector, journal } = this.#options;
    const { election } = elector;
    const text = `${call}() was called inside of the task of '${election}' (term ${term}), which is still pending. If the task awaits ${call}(), it waits for itself: let it return instead, or call ${call}() without await.`;
    journal.warn("LEASEHOLD_WAITS_FOR_ITSELF", "warn", text, { election, term });
  }

  #setLeader(leader: Leader | undefined): void {
    const before = this.leader;
    this.leader = leader;
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

  setState(state: ElectorState, term?: number, reason?: Error): void {
    const { elector, clock } = this.#options;
    const { election, candidateId } = elector;
    this.state = state;
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
