import { randomBytes } from "node:crypto";
import { status } from "@grpc/grpc-js";
import type { TransactionOptions } from "./messages.ts";
import { invalidArgument, StatusError, unimplemented } from "./status-error.ts";

/**
 * A transaction that has begun. It is optimistic: it locks nothing, and what it has read is compared with what is there
 * when it commits. The service's own, for the clients of servers, are pessimistic: a document that one of them has read
 * cannot be written by others until it ends, and they wait. Either way no transaction commits that has read what is no
 * longer so, but here none ever waits, and the one that commits last has to try again.
 */
export class Transaction {
  /** The versions that its reads have found; no two commits have the same time, so that it stands for one version. */
  readonly #reads: { readonly name: string; readonly updateTime: bigint | undefined }[] = [];

  /** Remembers what a read has found. */
  record(name: string, updateTime: bigint | undefined): void {
    this.#reads.push({ name, updateTime });
  }

  /** @throws ABORTED if anything that was read has changed since. */
  checkReads(versionNow: (name: string) => bigint | undefined): void {
    if (this.#reads.every(({ name, updateTime }) => versionNow(name) === updateTime)) return;
    throw new StatusError(status.ABORTED, "Too much contention on these documents. Please try again.");
  }
}

/** The transactions that have begun and not ended. The service ends those that are idle for a minute; here none expires. */
export class Transactions {
  readonly #active = new Map<string, Transaction>();

  /** Begins one, and gives its id. That it may be another attempt of an earlier one makes no difference here. */
  begin(options: TransactionOptions | null): Uint8Array {
    if (options?.mode === "readOnly") throw unimplemented("read-only transactions");
    // Random, so that one from before a restart is unknown after it.
    const id = randomBytes(16);
    this.#active.set(keyOf(id), new Transaction());
    return id;
  }

  /** @throws INVALID_ARGUMENT, as the service, if there is none with this id, or it has ended. */
  get(id: Uint8Array): Transaction {
    const transaction = this.#active.get(keyOf(id));
    if (transaction !== undefined) return transaction;
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
