import { setTimeout as delay } from "node:timers/promises";
import type { GuardedDocument } from "@leasehold/test-kit/stores/test-store";
import { demoMs } from "./demo-clock.ts";
import { entriesOf, type Entry } from "./ledger.ts";

const LOOK_MS = 100;
/** How long the final read is retried if the store does not answer. */
const LAST_LOOK_MS = 60_000;

/** Reads the ledger again and again while workers write it, because the leader's next write would hide a stale one. */
export class LedgerWatch implements AsyncDisposable {
  /** The contents of the ledger, one after another, without repetitions. */
  readonly versions: Entry[][] = [];
  readonly #ledger: GuardedDocument;
  readonly #stop = Promise.withResolvers<undefined>();
  #stopped = false;
  readonly #watching: Promise<void>;

  constructor(ledger: GuardedDocument) {
    this.#ledger = ledger;
    this.#watching = this.#watch();
  }

  /** Reads the ledger for the last time. */
  async end(): Promise<void> {
    await this[Symbol.asyncDispose]();
    const timeUp = new AbortController();
    const end = delay(LAST_LOOK_MS, undefined, { signal: timeUp.signal }).catch(() => undefined);
    const untilMs = demoMs() + LAST_LOOK_MS;
    while (!(await this.#look(end)) && demoMs() < untilMs) await delay(LOOK_MS);
    timeUp.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    this.#stop.resolve(undefined);
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#stopped) {
      await this.#look(this.#stop.promise);
      await Promise.race([delay(LOOK_MS), this.#stop.promise]);
    }
  }

  /** Returns whether the ledger was read. A read that fails, or ends after `end`, does not count. */
  async #look(end: Promise<undefined>): Promise<boolean> {
    const version = await Promise.race([this.#ledger.read().then(entriesOf), end]).catch(() => undefined);
    if (version && JSON.stringify(version) !== JSON.stringify(this.versions.at(-1))) this.versions.push(version);
    return version !== undefined;
  }
}
