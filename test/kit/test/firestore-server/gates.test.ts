import { randomUUID } from "node:crypto";
import type { DocumentReference, Firestore } from "@google-cloud/firestore";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { clientOf, servers, type RunningServer } from "./servers.ts";

const FAILED_PRECONDITION = 9;
const CLIENTS = 10;

/*
 * A server that is to test an election must lose no update: several that can be had lose updates here. Each client has
 * a connection of its own.
 */
describe.concurrent.each(servers)("$name", { timeout: 60_000 }, ({ start, isOfficial }) => {
  // The official emulator makes transactions wait for each other, seconds for each.
  const rounds = isOfficial ? 1 : 10;
  let server: RunningServer;
  let clients: readonly Firestore[];

  beforeAll(async () => {
    server = await start();
    clients = Array.from({ length: CLIENTS }, () => clientOf(server.host));
  });

  afterAll(async () => {
    await Promise.all(clients.map((client) => client.terminate()));
    await server[Symbol.asyncDispose]();
  });

  /** The same new document, through each client. */
  async function sharedDocument(): Promise<readonly DocumentReference[]> {
    const path = `gates/${randomUUID()}`;
    const references = clients.map((client) => client.doc(path));
    await references[0]!.create({ count: 0 });
    return references;
  }

  async function countOf(reference: DocumentReference): Promise<number> {
    return (await reference.get()).get("count") as number;
  }

  /** Adds one if nobody else has meanwhile, and tells whether it did. */
  async function compareAndSwap(reference: DocumentReference): Promise<boolean> {
    const found = await reference.get();
    const count = (found.get("count") as number) + 1;
    return await reference.update({ count }, { lastUpdateTime: found.updateTime! }).then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: FAILED_PRECONDITION });
        return false;
      },
    );
  }

  test("counts exactly, by compare-and-swap", async () => {
    const references = await sharedDocument();
    const each = isOfficial ? 5 : 10;
    await Promise.all(
      references.map(async (reference) => {
        for (let done = 0; done < each;) if (await compareAndSwap(reference)) done++;
      }),
    );
    await expect(countOf(references[0]!)).resolves.toBe(CLIENTS * each);
  });

  test("counts exactly, by transactions that read and write", async () => {
    const references = await sharedDocument();
    const each = isOfficial ? 1 : 5;
    await Promise.all(
      references.map(async (reference) => {
        for (let done = 0; done < each; done++) {
          const increment = async (transaction: FirebaseFirestore.Transaction): Promise<void> => {
            const found = await transaction.get(reference);
            transaction.update(reference, { count: (found.get("count") as number) + 1 });
          };
          await reference.firestore.runTransaction(increment, { maxAttempts: 100 });
        }
      }),
    );
    await expect(countOf(references[0]!)).resolves.toBe(CLIENTS * each);
  });

  test("lets one of ten who take over by compare-and-swap win", async () => {
    const references = await sharedDocument();
    for (let round = 1; round <= 10; round++) {
      const found = await Promise.all(references.map((reference) => reference.get()));
      const outcomes = await Promise.allSettled(
        found.map(({ ref, updateTime }, holder) => ref.update({ holder, count: round }, { lastUpdateTime: updateTime! })),
      );
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    }
  });

  test("lets one of ten who take over by a transaction win", async () => {
    const takeOver = async (reference: DocumentReference): Promise<boolean> =>
      await reference.firestore.runTransaction(
        async (transaction) => {
          const found = await transaction.get(reference);
          if (found.get("count") !== 0) return false;
          transaction.update(reference, { count: 1 });
          return true;
        },
        { maxAttempts: 100 },
      );
    const round = async (): Promise<number> => {
      const won = await Promise.all((await sharedDocument()).map(takeOver));
      return won.filter(Boolean).length;
    };
    const winners = await Promise.all(Array.from({ length: rounds }, round));
    expect(winners).toEqual(winners.map(() => 1));
  });

  test("lets one of ten who create the same document win", async () => {
    const path = `gates/${randomUUID()}`;
    const outcomes = await Promise.allSettled(clients.map((client) => client.doc(path).create({})));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});
