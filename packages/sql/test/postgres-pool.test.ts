import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { PostgresConnections } from "../src/postgres/postgres-pool.ts";

/** A client of a pool, its protocol connection, and how it was given back. */
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

test("a client that is used repeatedly gathers no listeners, and goes back unchanged", async () => {
  const client = new FakeClient();
  const connections = poolOf(client);
  for (let uses = 0; uses < 3; uses += 1) {
    connections.release(await connections.get());
    expect(client.listenerCount("error")).toBe(0);
  }
  expect(client.given).toEqual(["back", "back", "back"]);
  // A client before 8.21 has one listener for its transaction status.
  expect(client.connection.listenerCount("readyForQuery")).toBe(1);
});

test("a client that shows its transaction status gets no listener", async () => {
  const client = Object.assign(new FakeClient(), { getTransactionStatus: () => "I" });
  await poolOf(client).get();
  expect(client.connection.listenerCount("readyForQuery")).toBe(0);
});

test("a discarded client is closed, and its last error does not end the process", async () => {
  const client = new FakeClient();
  const connections = poolOf(client);
  connections.discard(await connections.get());
  expect(client.given).toEqual(["up"]);
  expect(client.emit("error", new Error("Connection terminated"))).toBe(true);
});
