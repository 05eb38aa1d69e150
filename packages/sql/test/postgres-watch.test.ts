/** A watch of PostgreSQL's, by what the server is sent and when. */
import { EventEmitter, getEventListeners } from "node:events";
import { systemClock } from "@leasehold/core";
import { expect, test } from "vitest";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";

/** A look that finds no lease asks its fence, too. */
const LOOK = ["SELECT", "SELECT"];

/** A server that answers LISTEN when the test says so, and knows no lease. */
function server() {
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
        return { rows: [], rowCount: 0 };
      },
      getTransactionStatus: () => "I",
      release: () => undefined,
    });
  };
  const database = new PostgresDatabase({ connect, end: async () => undefined }, systemClock);
  return { database, sent, listening, listener: listener.promise };
}

test("a watch tells what is there once every later change is sure to be told, and each change after it", async () => {
  const { database, sent, listening, listener } = server();
  const { signal } = new AbortController();
  const watch = database.watch!("e", { signal })[Symbol.asyncIterator]();
  const first = watch.next();
  const client = await listener;
  await new Promise((resolve) => void setImmediate(resolve));
  expect(sent).toEqual(["LISTEN"]);

  listening.resolve();
  await expect(first).resolves.toEqual({ done: false, value: undefined });
  expect(sent).toEqual(["LISTEN", ...LOOK]);

  const second = watch.next();
  client.emit("notification", { payload: "another" });
  await new Promise((resolve) => void setImmediate(resolve));
  expect(sent).toEqual(["LISTEN", ...LOOK]);
  client.emit("notification", { payload: "e" });
  await second;
  expect(sent).toEqual(["LISTEN", ...LOOK, ...LOOK]);

  await watch.return!();
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a watch that is ended asks nothing any more", async () => {
  const { database, sent, listening } = server();
  listening.resolve();
  const stop = new AbortController();
  const watch = database.watch!("e", { signal: stop.signal })[Symbol.asyncIterator]();
  await watch.next();
  const next = watch.next();
  stop.abort();
  await expect(next).resolves.toEqual({ done: true, value: undefined });
  expect(sent).toEqual(["LISTEN", ...LOOK]);
});
