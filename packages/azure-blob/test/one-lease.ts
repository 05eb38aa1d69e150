import type { AcquireRequest, Lease } from "@leasehold/core/provider";
import { acquiring } from "@leasehold/test-kit/acquisitions";
import { VirtualAzure, type Connection } from "./virtual-azure.ts";

/** A simulated Blob Storage, and two processes that compete for one lease. */
export class OneLease {
  readonly azure = new VirtualAzure();
  readonly a: Connection = this.azure.connect();
  readonly b: Connection = this.azure.connect();

  /** Acquires, which must succeed. @param by the process. @defaultValue `a` */
  readonly win = async (by: Connection = this.a, wishes: Partial<AcquireRequest> = {}): Promise<Lease> => {
    const outcome = await this.azure.run(by.store.acquire(acquiring(wishes)));
    if (!outcome.acquired) throw new Error(`It was not acquired: ${JSON.stringify(outcome)}`);
    return outcome.lease;
  };

  /** Returns the requests of a call, and its result. */
  readonly asking = async <T>(
    by: Connection,
    call: (store: Connection["store"]) => Promise<T>,
  ): Promise<[string[], T | Error]> => {
    by.sent.length = 0;
    const outcome = await this.azure.run(call(by.store).catch((error: unknown) => error as Error));
    return [[...by.sent], outcome];
  };
}
