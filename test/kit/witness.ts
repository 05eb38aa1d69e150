import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { REQUEST_CHANNEL, STATE_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";
import type { StoreError } from "@leasehold/core";
import { expect } from "vitest";
import { failureOf } from "./failure.ts";

/** Records all errors, events and diagnostics of Leasehold during a test. None of them may contain a secret. */
export class Witness implements Disposable {
  /** The requests that were published on the diagnostics channel. */
  readonly published: StoreRequest[] = [];
  readonly #heard: unknown[] = [];
  readonly #secrets: string[] = [];
  readonly #onRequest = (message: unknown): void => {
    this.published.push(message as StoreRequest);
    this.hear(message);
  };
  readonly #onState = (message: unknown): void => this.hear(message);

  constructor() {
    subscribe(REQUEST_CHANNEL, this.#onRequest);
    subscribe(STATE_CHANNEL, this.#onState);
  }

  /** Records something that people may see in a log. */
  hear(what: unknown): void {
    this.#heard.push(what);
  }

  /** Returns the error of a promise, and records it. Fails the test if the promise does not reject. */
  async failureOf(promise: Promise<unknown>): Promise<StoreError> {
    const error = await failureOf(promise);
    this.hear(error);
    return error as unknown as StoreError;
  }

  /** Adds secrets that no record may show. */
  keep(...secrets: readonly string[]): void {
    this.#secrets.push(...secrets);
  }

  /** Fails if a record shows a secret when it is printed with all of its properties. */
  expectDiscreet(): void {
    const secrets = new Set(this.#secrets.flatMap((secret) => [secret, encodeURIComponent(secret)]));
    for (const what of this.#heard) {
      const shown = `${inspect(what, { depth: 10, showHidden: true })}\n${JSON.stringify(what)}\n${String(what)}`;
      for (const secret of secrets) expect(shown).not.toContain(secret);
    }
  }

  [Symbol.dispose](): void {
    unsubscribe(REQUEST_CHANNEL, this.#onRequest);
    unsubscribe(STATE_CHANNEL, this.#onState);
  }
}
