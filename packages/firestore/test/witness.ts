import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { REQUEST_CHANNEL, STATE_CHANNEL, type StoreRequest } from "@leasehold/core";
import type { InterceptedCall } from "@leasehold/firestore-server";
import { expect } from "vitest";

/** The fields of a lease document that prove who holds it, or that rivals time. */
const SECRET_FIELDS = ["nonce", "termId"];

/** Everything that Leasehold tells during a test: errors and diagnostics. None of it may hold a secret. */
export class Witness implements Disposable {
  /** The requests that were published on the diagnostics channel. */
  readonly published: StoreRequest[] = [];
  readonly #heard: unknown[] = [];
  readonly #secrets = new Set<string>();
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

  /** The secrets that a request carries. */
  keepSecretsOf({ method, request }: InterceptedCall): void {
    if (method !== "Commit") return;
    const { writes } = request as { readonly writes: ReadonlyArray<{ readonly update?: { readonly fields: Fields } }> };
    for (const { update } of writes) {
      for (const name of SECRET_FIELDS) {
        const secret = update?.fields[name]?.stringValue;
        if (secret !== undefined && secret !== "") this.#secrets.add(secret);
      }
    }
  }

  /** Fails if anything heard shows a secret to somebody who prints it with everything in it. */
  expectDiscreet(): void {
    for (const what of this.#heard) {
      const shown = `${inspect(what, { depth: 10, showHidden: true })}\n${JSON.stringify(what)}\n${String(what)}`;
      for (const secret of this.#secrets) expect(shown).not.toContain(secret);
    }
  }

  [Symbol.dispose](): void {
    unsubscribe(REQUEST_CHANNEL, this.#onRequest);
    unsubscribe(STATE_CHANNEL, this.#onState);
  }
}

type Fields = Readonly<Record<string, { readonly stringValue?: string }>>;
