/** A watch on PostgreSQL: the statements that the server gets, and when. */
import { EventEmitter, getEventListeners } from "node:events";
import { systemClock, type Clock } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";

/** A server that answers LISTEN at the test's command, and has no lease. */
function server(clock: Clock = systemClock, answers = (_text: string): boolean => true) {
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
        }
        if (!answers(text)) await new Promise<never>(() => undefined);
        return { rows: [], rowCount: 0 };
      },
      getTransactionStatus: () => "I",
      release: () => undefined,
    });
  };
  const database = new PostgresDatabase({ connect, end: async () => undefined }, clock);
  return { database, sent, listening, listener: listener.promise };
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
  expect(sent).toEqual(["LISTEN"]);

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
  expect(sent).toEqual(["LISTEN"]);
});
