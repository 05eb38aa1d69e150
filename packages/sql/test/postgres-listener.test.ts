import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { PostgresListener } from "../src/postgres/postgres-listener.ts";
import type { PostgresConnections, PostgresPoolClient } from "../src/postgres/postgres-pool.ts";

/** A listener whose connections come when the test says so. */
class World {
  readonly clock = new VirtualClock();
  readonly statements: string[] = [];
  readonly given: string[] = [];
  readonly failures: Error[] = [];
  readonly #connecting: Array<PromiseWithResolvers<PostgresPoolClient>> = [];
  readonly listener: PostgresListener;

  constructor() {
    const connections = {
      get: async () => {
        const connecting = Promise.withResolvers<PostgresPoolClient>();
        this.#connecting.push(connecting);
        return await connecting.promise;
      },
      release: () => void this.given.push("back"),
    };
    this.listener = new PostgresListener(connections as unknown as PostgresConnections, this.clock);
  }

  join(): ReturnType<PostgresListener["join"]> {
    return this.listener.join({
      election: "e",
      changed: () => undefined,
      failed: (error) => void this.failures.push(error),
    });
  }

  get connections(): number {
    return this.#connecting.length;
  }

  connect(): void {
    const client = {
      query: async ({ text }: { readonly text: string }) => {
        this.statements.push(text);
        return { rows: [], rowCount: 0 };
      },
      on: () => undefined,
      off: () => undefined,
      release: (destroy?: boolean) => void this.given.push(destroy ? "up" : "back"),
    };
    this.#connecting.shift()?.resolve(client);
  }
}

describe("a listener", () => {
  test("that nobody needs any more before it has a connection gives it back as it is", async () => {
    const world = new World();
    const { listening, leave } = world.join();
    leave();
    world.connect();
    await listening;

    expect(world.statements).toEqual([]);
    expect(world.given).toEqual(["back"]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("listens on one connection for all, which is given up with the last of them, once", async () => {
    const world = new World();
    const [one, other] = [world.join(), world.join()];
    expect(world.connections).toBe(1);
    world.connect();
    await Promise.all([one.listening, other.listening]);
    expect(world.statements).toEqual(["LISTEN leasehold"]);

    one.leave();
    expect(world.given).toEqual([]);
    other.leave();
    other.leave();
    expect(world.given).toEqual(["up"]);

    world.join();
    expect(world.connections).toBe(1);
  });

  test("that gets no connection for ten seconds fails all who watch", async () => {
    const world = new World();
    const { listening } = world.join();
    const failure = listening.catch((error: unknown) => error);
    await world.clock.advance(9_999);
    expect(world.failures).toEqual([]);
    await world.clock.advance(1);

    expect(await failure).toMatchObject({ message: "LISTEN got no answer within 10000 ms." });

    expect(world.failures).toHaveLength(1);
    world.join();
    expect(world.connections).toBe(2);
  });
});
