import { setTimeout as delay } from "node:timers/promises";
import type { BlockBlobClient } from "@azure/storage-blob";
import { readLedger, type Entry } from "./ledger.ts";

const LOOK_MS = 200;

/** Reads the ledger again and again beside those who write it: the leader's next write would hide a stale one. */
export class LedgerWatch implements AsyncDisposable {
  /** What the ledger held, one after another, without repetitions. */
  readonly versions: Entry[][] = [];
  readonly #blob: BlockBlobClient;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;

  constructor(blob: BlockBlobClient) {
    this.#blob = blob;
    this.#watching = this.#watch();
  }

  /** Looks for the last time. */
  async end(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
    await this.#look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#look();
      await delay(LOOK_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  /** No leader, no ledger yet; and a look that fails tells nothing. */
  async #look(): Promise<void> {
    const version = await readLedger(this.#blob).catch(() => undefined);
    if (version && JSON.stringify(version) !== JSON.stringify(this.versions.at(-1))) this.versions.push(version);
  }
}
