import { randomBytes } from "node:crypto";
import { status } from "@grpc/grpc-js";
import type { TransactionOptions } from "./messages.ts";
import { invalidArgument, StatusError, unimplemented } from "./status-error.ts";

/**
 * A transaction that has begun. It is optimistic: it locks nothing, and at its commit its reads are compared with the present
 * documents.
 *
 * The service's transactions for server clients are pessimistic: while one of them has read a document, writes of others wait
 * until it ends. In either case no transaction commits whose reads have become outdated. But here none ever waits, and the one
 * that commits last has to try again.
 */
export class Transaction {
  /** The versions that its reads have found. No two commits have the same time, so a time identifies a version. */
  readonly #reads: { readonly name: string; readonly updateTime: bigint | undefined }[] = [];

  /** Records the version that a read has found. */
  record(name: string, updateTime: bigint | undefined): void {
    this.#reads.push({ name, updateTime });
  }

  /** @throws ABORTED if a document that was read has changed since. */
  checkReads(versionNow: (name: string) => bigint | undefined): void {
    if (this.#reads.every(({ name, updateTime }) => versionNow(name) === updateTime)) return;
    throw new StatusError(status.ABORTED, "Too much contention on these documents. Please try again.");
  }
}

/**
 * The transactions that have begun and not ended. The service ends transactions that are idle for a minute; here none expires.
 */
export class Transactions {
  readonly #active = new Map<string, Transaction>();

  /** Begins a transaction, and returns its id. A retry of an earlier transaction is treated like any other. */
  begin(options: TransactionOptions | null): Uint8Array {
    if (options?.mode === "readOnly") throw unimplemented("read-only transactions");
    // A random id, so that an id from before a restart is unknown after it.
    const id = randomBytes(16);
    this.#active.set(keyOf(id), new Transaction());
    return id;
  }

  /** @throws INVALID_ARGUMENT, as the service, if no transaction has this id, or it has ended. */
  get(id: Uint8Array): Transaction {
    const transaction = this.#active.get(keyOf(id));
    if (transaction !== undefined) return transaction;
    // Clients retry because of this text.
    throw invalidArgument("The referenced transaction has expired or is no longer valid.");
  }

  /** Ends a transaction; an unknown id is ignored. */
  end(id: Uint8Array): void {
    this.#active.delete(keyOf(id));
  }
}

function keyOf(id: Uint8Array): string {
  return Buffer.from(id).toString("hex");
}
