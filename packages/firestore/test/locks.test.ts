import type { Firestore } from "@google-cloud/firestore";
import { FirestoreLeaseStore } from "@leasehold/firestore";
import type { InterceptedCall } from "@leasehold/test-kit/firestore-server";
import { FencedError } from "@leasehold/core";
import type { Lease } from "@leasehold/core/provider";
import { describe, expect } from "vitest";
import { ELECTION, win } from "@leasehold/test-kit/acquisitions";
import { FENCE_PATH, type FirestoreWorld } from "./firestore-world.ts";
import { test } from "./world-test.ts";

const STREAMS = 8;

/**
 * Locks on the fence, like those of Firestore's own transactions in its default, pessimistic mode. A transaction that has read
 * the fence keeps others from writing it until it ends. Locks are granted in the order of the requests.
 * https://firebase.google.com/docs/firestore/transaction-data-contention
 */
class FenceLocks {
  /** How many transactions have read the fence and have not ended. */
  open = 0;
  /** How many have got the result of their read. */
  told = 0;
  /** How many were open when the writer's request came. */
  openBeforeWriter: number | undefined;
  /** How many guarded transactions have read the fence between the writer's request and its end. */
  overtakers = 0;
  #writer: PromiseWithResolvers<void> | undefined;
  #written: PromiseWithResolvers<void> | undefined;

  get writerWaits(): boolean {
    return this.#written !== undefined;
  }

  async pass({ method, request }: InterceptedCall): Promise<void> {
    const { documents, consistencySelector, writes, transaction } = request as Partial<Request>;
    if (method === "BatchGetDocuments" && consistencySelector !== undefined && documents?.some(isFence)) {
      await this.#written?.promise;
      if (this.#written) this.overtakers += 1;
      this.open += 1;
    }
    if (method === "Rollback" || (method === "Commit" && transaction!.length > 0)) {
      // In this turn the request has been carried out.
      setImmediate(() => {
        this.open -= 1;
        if (this.open === 0) this.#writer?.resolve();
      });
    } else if (method === "Commit" && writes?.some(({ update }) => update && isFence(update.name))) {
      this.openBeforeWriter = this.open;
      this.#written = Promise.withResolvers();
      this.#writer = Promise.withResolvers();
      if (this.open > 0) await this.#writer.promise;
      setImmediate(() => {
        this.#written?.resolve();
        this.#written = undefined;
      });
    }
  }
}

interface Request {
  readonly documents: readonly string[];
  readonly consistencySelector: string;
  readonly transaction: Uint8Array;
  readonly writes: ReadonlyArray<{ readonly update?: { readonly name: string } }>;
}

function isFence(name: string): boolean {
  return name.endsWith(`/${FENCE_PATH}`);
}

/** Lets all other callbacks run. */
async function turn(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/**
 * Sends guarded transactions until one is refused, and returns its error. Each stays open until another one is open. So there is
 * always an open one, unless a lock makes the next one wait.
 */
async function stream(firestore: Firestore, locks: FenceLocks, lease: Lease, place: number): Promise<unknown> {
  const store = new FirestoreLeaseStore({ firestore });
  for (;;) {
    try {
      await firestore.runTransaction(async (transaction) => {
        await store.fence(lease, transaction);
        locks.told += 1;
        const { told } = locks;
        while (locks.told === told && !locks.writerWaits) await turn();
        transaction.set(firestore.doc(`reports/${place}`), { term: lease.term });
      });
    } catch (error) {
      return error;
    }
  }
}

describe("if transactions lock what they read, a leader that streams guarded transactions", () => {
  const ends: Readonly<Record<string, (world: FirestoreWorld) => Promise<unknown>>> = {
    "a takeover": async (world) => {
      world.moveServerClock(20_000);
      await win(world.store(), { candidateId: "b" });
    },
    "a break": async (world) => await world.store().break(ELECTION, { reason: "test" }),
  };
  test.for(Object.entries(ends))("keeps %s waiting for those alone that were open already", async ([, end], { world }) => {
    const firestore = world.client();
    const lease = await win(world.store({ firestore }));
    const locks = new FenceLocks();
    world.rule = async (call) => await locks.pass(call);
    const streams = Array.from({ length: STREAMS }, (_, place) => stream(firestore, locks, lease, place));
    while (locks.told < 10 * STREAMS) await turn();

    await end(world);

    expect(locks.openBeforeWriter).toBeGreaterThan(0);
    expect(locks.overtakers).toBe(0);
    for (const refusal of await Promise.all(streams)) expect(refusal).toBeInstanceOf(FencedError);
  });
});
