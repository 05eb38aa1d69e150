import { randomBytes } from "node:crypto";
import { status } from "@grpc/grpc-js";
import type { TransactionOptions } from "./messages.ts";
import { invalidArgument, StatusError, unimplemented } from "./status-error.ts";

/** The service's limits: https://firebase.google.com/docs/firestore/quotas */
const MAX_IDLE_MS = 60_000;
const MAX_AGE_MS = 270_000;

/** Tells which versions a read has found; what it tells changes if and only if those do. */
export type ReadVersions = () => string;

/**
 * A transaction that has begun. It is optimistic: it locks nothing, and what it has read is compared with what is there
 * when it commits. The service's own, for the clients of servers, are pessimistic: a document that one of them has read
 * cannot be written by others until it ends, and they wait. Either way no transaction commits that has read what is no
 * longer so, but here none ever waits, and the one that commits last has to try again.
 */
export class Transaction {
  readonly isReadOnly: boolean;
  readonly #beganMs: number;
  #usedMs: number;
  readonly #reads: { readonly versions: ReadVersions; readonly found: string }[] = [];

  constructor(isReadOnly: boolean, nowMs: number) {
    this.isReadOnly = isReadOnly;
    this.#beganMs = nowMs;
    this.#usedMs = nowMs;
  }

  /** Remembers what a read finds now. */
  record(versions: ReadVersions): void {
    // One that is read-only has nothing to commit. The service gives it one consistent snapshot; here it reads the present.
    if (!this.isReadOnly) this.#reads.push({ versions, found: versions() });
  }

  /** @throws ABORTED if anything that was read has changed since. */
  checkReads(): void {
    if (this.#reads.every(({ versions, found }) => versions() === found)) return;
    throw new StatusError(status.ABORTED, "Too much contention on these documents. Please try again.");
  }

  /** Notes that a request has used it, unless it has expired. */
  use(nowMs: number): boolean {
    if (this.hasExpired(nowMs)) return false;
    this.#usedMs = nowMs;
    return true;
  }

  hasExpired(nowMs: number): boolean {
    return nowMs - this.#usedMs > MAX_IDLE_MS || nowMs - this.#beganMs > MAX_AGE_MS;
  }
}

/** The transactions that have begun and not ended. */
export class Transactions {
  readonly #now: () => number;
  readonly #active = new Map<string, Transaction>();

  /** @param now the time by which they expire, in milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Begins one, and gives its id. That it may be another attempt of an earlier one makes no difference here. */
  begin(options: TransactionOptions | null): Uint8Array {
    if (options?.mode === "readOnly" && options.readOnly.consistencySelector !== undefined) {
      throw unimplemented("reads of the past");
    }
    const nowMs = this.#now();
    // Those that nobody ended would pile up.
    for (const [key, transaction] of this.#active) if (transaction.hasExpired(nowMs)) this.#active.delete(key);
    // Random, so that one from before a restart is unknown after it.
    const id = randomBytes(16);
    this.#active.set(keyOf(id), new Transaction(options?.mode === "readOnly", nowMs));
    return id;
  }

  /** @throws INVALID_ARGUMENT, as the service, if there is none with this id, or it has ended or expired. */
  get(id: Uint8Array): Transaction {
    const transaction = this.#active.get(keyOf(id));
    if (transaction?.use(this.#now()) === true) return transaction;
    // Clients know by this text that they may try again.
    throw invalidArgument("The referenced transaction has expired or is no longer valid.");
  }

  /** Ends one, whether there is one or not. */
  end(id: Uint8Array): void {
    this.#active.delete(keyOf(id));
  }
}

function keyOf(id: Uint8Array): string {
  return Buffer.from(id).toString("hex");
}
