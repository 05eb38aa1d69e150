import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { REQUEST_CHANNEL, STATE_CHANNEL, type StoreError, type StoreRequest } from "@leasehold/core";
import { expect } from "vitest";
import { failureOf } from "./failure.ts";

/** Everything that Leasehold tells during a test: errors, events and diagnostics. None of it may hold a secret. */
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

  /** Notes something that people may see in a log. */
  hear(what: unknown): void {
    this.#heard.push(what);
  }

  /** The error of a promise, which must reject; it counts among what people may see. */
  async failureOf(promise: Promise<unknown>): Promise<StoreError> {
    const error = await failureOf(promise);
    this.hear(error);
    return error as unknown as StoreError;
  }

  /** Nothing that is heard may show these. */
  keep(...secrets: readonly string[]): void {
    this.#secrets.push(...secrets);
  }

  /** Fails if anything heard shows a secret to somebody who prints it with everything in it. */
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
