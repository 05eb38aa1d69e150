/** A watch of PostgreSQL's, by what the server is sent and when. */
import { EventEmitter, getEventListeners } from "node:events";
import { systemClock, type Clock } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { failureOf } from "@leasehold/test-kit/failure";
import { expect, test } from "vitest";
import { PostgresDatabase } from "../src/postgres/postgres-database.ts";

/** A server that answers LISTEN when the test says so, and knows no lease. */
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
  expect(sent).toEqual(["LISTEN", "SELECT"]);

  const second = watch.next();
  client.emit("notification", { payload: "another" });
  await new Promise((resolve) => void setImmediate(resolve));
  expect(sent).toEqual(["LISTEN", "SELECT"]);
  client.emit("notification", { payload: "e" });
  await second;
  expect(sent).toEqual(["LISTEN", "SELECT", "SELECT"]);

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
  expect(sent).toEqual(["LISTEN", "SELECT"]);
});

test("a watch whose read gets no answer ends in the time of any request, so that its connection is not kept", async () => {
  const clock = new VirtualClock();
  const { database, sent, listening } = server(clock, (text) => !text.startsWith("SELECT *"));
  listening.resolve();
  const watch = database.watch!("e", { signal: new AbortController().signal })[Symbol.asyncIterator]();
  const failure = failureOf(watch.next());
  await expect.poll(() => sent).toEqual(["LISTEN", "SELECT"]);
  await clock.advance(5_000);
  await expect(failure).resolves.toMatchObject({ code: "STORE_TIMEOUT", operation: "watch" });
});
