/** A watch on PostgreSQL: the statements that the server gets, and when. */
import { EventEmitter, getEventListeners } from "node:events";
import { Journal, systemClock, type Clock } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { failureOf } from "@leasehold/test-kit/failure";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";

/** A server that answers LISTEN at the test's command, and has no lease. */
function server(clock: Clock = systemClock, { isPooler = false } = {}) {
  const sent: string[] = [];
  const listening = Promise.withResolvers<void>();
  const listener = Promise.withResolvers<EventEmitter>();
  const connect = async (): Promise<EventEmitter> => {
    const client = new EventEmitter();
    return Object.assign(client, {
      query: async ({ text }: { readonly text: string }) => {
        sent.push(text.split(" ", 1)[0]!);
        if (text.startsWith("LISTEN")) {
          listener.resolve(client);
          await listening.promise;
        } else if (!isPooler) (await listener.promise).emit("notification", { payload: "" });
        return { rows: [], rowCount: 0 };
      },
      getTransactionStatus: () => "I",
      release: () => undefined,
    });
  };
  const pool = { connect, end: async () => undefined };
  const database = new PostgresDatabase(pool, clock);
  return { pool, database, sent, listening, listener: listener.promise };
}

test("a watch wakes once it is certain to be notified, and then at each change, without polls", async () => {
  const { database, sent, listening, listener } = server();
  const { signal } = new AbortController();
  const watch = database.watch!("e", { signal })[Symbol.asyncIterator]();
  const first = watch.next();
  const client = await listener;
  await new Promise((resolve) => void setImmediate(resolve));
  expect(sent).toEqual(["LISTEN"]);

  listening.resolve();
  await expect(first).resolves.toEqual({ done: false, value: undefined });

  const second = watch.next();
  client.emit("notification", { payload: "another" });
  await new Promise((resolve) => void setImmediate(resolve));
  client.emit("notification", { payload: "e" });
  await second;
  expect(sent).toEqual(["LISTEN", "SELECT"]);

  await watch.return!();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a watch that has ended does not wake again", async () => {
  const { database, sent, listening } = server();
  listening.resolve();
  const stop = new AbortController();
  const watch = database.watch!("e", { signal: stop.signal })[Symbol.asyncIterator]();
  await watch.next();
  const next = watch.next();
  stop.abort();
  await expect(next).resolves.toEqual({ done: true, value: undefined });
  expect(sent).toEqual(["LISTEN", "SELECT"]);
});

test("a watch through a pooler that shares connections warns once, names it, and never wakes", async () => {
  const clock = new VirtualClock();
  const { database, listening } = server(clock, { isPooler: true });
  const lines: string[] = [];
  const ignored = (): void => undefined;
  const logger = { debug: ignored, info: ignored, warn: (line: string) => void lines.push(line), error: ignored };
  database.warnings.join(Journal.to(logger));
  listening.resolve();
  const stop = new AbortController();
  const first = database.watch!("e", { signal: stop.signal })[Symbol.asyncIterator]().next();
  await clock.advance(200_000);
  expect(lines).toEqual([expect.stringMatching(/no notification came .*PgBouncer.*listen: false/)]);
  stop.abort();
  await expect(first).resolves.toEqual({ done: true, value: undefined });
});

test("stores with other tables on one pool listen on one connection, and each closes its own watches only", async () => {
  const { pool, database, sent, listening, listener } = server();
  const other = new PostgresDatabase(pool, systemClock, { table: "others" });
  listening.resolve();
  const { signal } = new AbortController();
  const [first, second] = [database, other].map((one) => one.watch!("e", { signal })[Symbol.asyncIterator]());
  await Promise.all([first!.next(), second!.next()]);
  expect(sent).toEqual(["LISTEN", "SELECT"]);

  const ended = failureOf(first!.next());
  await database.close();
  expect(await ended).toMatchObject({ message: expect.stringContaining("The store was closed.") as string });
  const changed = second!.next();
  (await listener).emit("notification", { payload: "e" });
  await expect(changed).resolves.toEqual({ done: false, value: undefined });
  await second!.return!();
});

test("a pool of one connection can listen beside the pool that sends statements, and not in its place", () => {
  const { pool } = server();
  const one = { ...pool, options: { max: 1 } };
  expect(new PostgresDatabase(pool, systemClock, { listen: one }).watch).toBeDefined();
  for (const options of [{}, { listen: one }]) expect(new PostgresDatabase(one, systemClock, options).watch).toBeUndefined();
});
