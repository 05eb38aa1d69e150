import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { PostgresConnections } from "../src/postgres/postgres-pool.ts";

/** A client of a pool, what it stands on, and how it was given back. */
class FakeClient extends EventEmitter {
  readonly connection = new EventEmitter();
  readonly given: string[] = [];
  declare getTransactionStatus?: () => string;

  release(destroy?: boolean): void {
    this.given.push(destroy ? "up" : "back");
  }
}

function poolOf(client: FakeClient): PostgresConnections {
  return new PostgresConnections({ connect: async () => client, end: async () => undefined });
}

test("a client that is used again and again gathers no listeners, and goes back as it was", async () => {
  const client = new FakeClient();
  const connections = poolOf(client);
  for (let uses = 0; uses < 3; uses += 1) {
    connections.release(await connections.get());
    expect(client.listenerCount("error")).toBe(0);
  }
  expect(client.given).toEqual(["back", "back", "back"]);
  // Before 8.21 it is heard, by one listener.
  expect(client.connection.listenerCount("readyForQuery")).toBe(1);
});

test("a client that tells of its transaction is not listened to", async () => {
  const client = Object.assign(new FakeClient(), { getTransactionStatus: () => "I" });
  await poolOf(client).get();
  expect(client.connection.listenerCount("readyForQuery")).toBe(0);
});

test("a client in doubt is closed, and its last error ends no process", async () => {
  const client = new FakeClient();
  const connections = poolOf(client);
  connections.discard(await connections.get());
  expect(client.given).toEqual(["up"]);
  expect(client.emit("error", new Error("Connection terminated"))).toBe(true);
});
