import { SAFETY_MARGIN } from "@leasehold/core/provider";
import type { DemoEvent } from "./demo-event.ts";

export interface Line {
  readonly text: string;
  /** A quoted text, such as an error message. */
  readonly quote?: string | undefined;
  readonly tone: "plain" | "faint" | "leader" | "trouble" | "relief";
}

/** Describes an event in one line. Unimportant events give no line. */
export class Narrator {
  #leaseDurationMs = 0;
  readonly #lastEntry = new Map<string, number>();
  readonly #validUntil = new Map<string, number>();
  readonly #thawed = new Set<string>();

  tell(event: DemoEvent): Line | undefined {
    const who = event.candidate ?? "";
    switch (event.event) {
      case "demo":
        this.#leaseDurationMs = event.leaseDurationMs;
        return undefined;
      case "spawned":
        return { text: `starts (process ${event.pid})`, tone: "faint" };
      case "standby":
        return { text: this.#thawed.has(who) ? "is back in line, and stands by" : "stands by", tone: "faint" };
      case "started-leading":
        this.#validUntil.set(who, event.validUntil);
        return { text: `LEADS in term ${event.term}`, tone: "leader" };
      case "renewed":
        this.#validUntil.set(who, event.validUntil);
        return undefined;
      case "sealed":
        return { text: `seals the ledger for term ${event.term}: older terms can no longer write to it`, tone: "plain" };
      case "wrote":
        this.#lastEntry.set(who, event.entry);
        return { text: `writes entry ${event.entry}, in term ${event.term}`, tone: "faint" };
      case "killed":
        return { text: `SIGKILL: dies. ${this.#leaseLeft(event)}`, tone: "trouble" };
      case "terminated":
        return { text: "SIGTERM: is asked to end", tone: "trouble" };
      case "paused":
        return { text: `SIGSTOP: freezes, working on entry ${this.#nextEntry(who)}. ${this.#leaseLeft(event)}`, tone: "trouble" };
      case "resumed":
        return { text: `SIGCONT: goes on working on entry ${this.#nextEntry(who)}, as if nothing had happened`, tone: "trouble" };
      case "cut-off":
        return { text: `is cut off from all other servers, and writes on. ${this.#leaseLeft(event)}`, tone: "trouble" };
      case "rejoined":
        return { text: "is connected again", tone: "relief" };
      case "ending":
        return event.lost
          ? { text: "has its task's signal aborted:", quote: event.reason, tone: "plain" }
          : { text: `finishes entry ${this.#nextEntry(who)}, still the only leader`, tone: "plain" };
      case "stopped-leading":
        return event.lost ? undefined : { text: "has released the lease", tone: "relief" };
      case "thawed":
        this.#thawed.add(who);
        return {
          text: `was frozen for ${seconds(event.frozenMs)}; in its first statement isValid() is ${event.valid}`,
          tone: event.valid ? "trouble" : "relief",
        };
      case "fenced-write-refused":
        return {
          text: `writes entry ${this.#nextEntry(who)} all the same, and the store REFUSES it:`,
          quote: `${event.error}: ${event.message}`,
          tone: "relief",
        };
      case "late-write-accepted":
        return { text: `writes entry ${this.#nextEntry(who)} all the same: ACCEPTED`, tone: "trouble" };
      case "exited":
        return event.signal === null ? { text: `ends with exit code ${event.code}`, tone: "faint" } : undefined;
      case "phase":
      case "stands-still":
      case "validity-ended":
      case "summary":
        return undefined;
    }
  }

  #nextEntry(candidate: string): number {
    return (this.#lastEntry.get(candidate) ?? 0) + 1;
  }

  /** The lease lasts longer than the validity of its holder, by the margin. */
  #leaseLeft({ at, candidate }: DemoEvent): string {
    const leaseEnds = (this.#validUntil.get(candidate ?? "") ?? at) + this.#leaseDurationMs * SAFETY_MARGIN;
    return `Its lease runs for another ${seconds(leaseEnds - at)}`;
  }
}

/** `12.3 s` */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
