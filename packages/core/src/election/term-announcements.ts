import { isStoreFailure } from "../reporting/errors.ts";
import type { Journal } from "../reporting/journal.ts";
import type { Lease } from "../store/lease-store.ts";
import type { ElectorReporter } from "./elector-reporter.ts";
import type { ElectorOptions } from "./elector-options.ts";
import type { StoreHealth } from "./store-health.ts";
import type { Timing } from "./timing.ts";

/** The exit code of a process that `onOverrun: 'exit'` ends: EX_SOFTWARE of sysexits.h. */
export const OVERRUN_EXIT_CODE = 70;

export interface TermAnnouncementsOptions {
  readonly announcements: ElectorReporter;
  readonly contact: StoreHealth;
  readonly journal: Journal;
  readonly timing: Timing;
  readonly wishes: Pick<ElectorOptions, "value" | "onOverrun">;
}

export class TermAnnouncements {
  readonly #options: TermAnnouncementsOptions;
  readonly #lease: Lease;

  constructor(lease: Lease, options: TermAnnouncementsOptions) {
    this.#lease = lease;
    this.#options = options;
  }

  began(): void {
    const { announcements, wishes } = this.#options;
    const { candidateId, term } = this.#lease;
    const { value } = wishes;
    announcements.setState({ state: "leading", term });
    announcements.setLeader({ candidateId, term, state: "held", ...(value === undefined ? {} : { value }) });
    announcements.emit("startedLeading", { term });
  }

  renewed(): void {
    const { announcements, contact } = this.#options;
    contact.answered("write");
    announcements.emit("renewed", { term: this.#lease.term });
  }

  renewFailed(error: unknown): void {
    const { announcements, contact, journal, timing } = this.#options;
    if (isStoreFailure(error)) {
      contact.failed("write", error);
      contact.report({ journal, leaseDurationMs: timing.leaseDurationMs });
    }
    announcements.emit("renewFailed", { term: this.#lease.term, error });
  }

  ending(reason: Error): void {
    const { announcements } = this.#options;
    const { term } = this.#lease;
    announcements.setState({ state: "ending", term, reason });
    announcements.emit("ending", { term, reason });
  }

  overrun(sinceSignalMs: number): void {
    const { announcements, journal, wishes } = this.#options;
    const { election, term } = this.#lease;
    announcements.emit("overrun", { term, sinceSignalMs });
    if (wishes.onOverrun !== "exit") return;
    const message = `leasehold: the task leading '${election}' (term ${term}) is still pending ${Math.round(sinceSignalMs)} ms after its signal aborted; ending this process (onOverrun: 'exit').\n`;
    // A process warning would come too late.
    if (!journal.isSilent) process.stderr.write(message);
    process.exit(OVERRUN_EXIT_CODE);
  }

  /** The term's timer was late for so long, and the leadership was lost meanwhile. */
  blocked(forMs: number): void {
    const { election, term } = this.#lease;
    const ms = Math.round(forMs);
    const text = `Leadership of '${election}' (term ${term}) was lost because this process did not run for ${ms} ms or more: its event loop was blocked, or the process was frozen.`;
    this.#options.journal.warn("LEASEHOLD_BLOCKED", "warn", text, { election, term, blockedMs: ms });
  }

  releaseFailed(error: unknown): void {
    this.#options.announcements.emit("releaseFailed", { term: this.#lease.term, error });
  }

  finished(reason: Error | undefined, released: boolean): void {
    const { announcements } = this.#options;
    const { term } = this.#lease;
    if (announcements.leader?.term === term) announcements.setLeader(undefined);
    announcements.emit("stoppedLeading", { term, reason, released });
  }

  /** The task has called `stop` or `resign` itself, and has not returned since. */
  waitsForItself(call: "stop" | "resign"): void {
    const { election, term } = this.#lease;
    const text = `${call}() was called inside of the task of '${election}' (term ${term}), which is still pending. If the task awaits ${call}(), it waits for itself: let it return instead, or call ${call}() without await.`;
    this.#options.journal.warn("LEASEHOLD_WAITS_FOR_ITSELF", "warn", text, { election, term });
  }
}
