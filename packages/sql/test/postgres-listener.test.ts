import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { PostgresListener } from "../src/postgres/postgres-listener.ts";
import type { PostgresPoolClient } from "../src/postgres/postgres-driver.ts";
import type { PostgresConnections } from "../src/postgres/postgres-pool.ts";

/** A listener whose connections come at the test's command. */
class World {
  readonly clock = new VirtualClock();
  readonly statements: string[] = [];
  readonly given: string[] = [];
  readonly failures: Error[] = [];
  readonly doubts: number[] = [];
  /** True if the notifications of the server arrive. */
  arrive = true;
  notified = 0;
  notHeard = 0;
  readonly #connecting: Array<PromiseWithResolvers<PostgresPoolClient>> = [];
  readonly listener: PostgresListener;
  #listeners = new Map<string, Array<(value: never) => void>>();

  constructor() {
    const connections = {
      get: async () => {
        const connecting = Promise.withResolvers<PostgresPoolClient>();
        this.#connecting.push(connecting);
        return await connecting.promise;
      },
      release: () => void this.given.push("back"),
      discard: () => void this.given.push("up"),
      instant: () => 7,
      doubt: (instant: number) => void this.doubts.push(instant),
    };
    this.listener = new PostgresListener(connections as unknown as PostgresConnections, this.clock, {
      notify: async () => {
        this.notified += 1;
        if (this.arrive) this.tell("notification", { payload: "" });
      },
      notHeard: () => void (this.notHeard += 1),
    });
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

  /** Makes the listening client emit an event. */
  tell(event: string, value: unknown): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(value as never);
  }

  connect(): void {
    this.#listeners = new Map();
    const listeners = this.#listeners;
    const client = {
      query: async ({ text }: { readonly text: string }) => {
        this.statements.push(text);
        return { rows: [], rowCount: 0 };
      },
      on: (event: string, listener: (value: never) => void) =>
        void listeners.set(event, [...(listeners.get(event) ?? []), listener]),
      off: () => undefined,
      release: (destroy?: boolean) => void this.given.push(destroy ? "up" : "back"),
    };
    this.#connecting.shift()?.resolve(client);
  }
}

describe("a listener", () => {
  test("whose last watch ends before it has a connection gives that connection back unused", async () => {
    const world = new World();
    const { listening, leave } = world.join();
    leave();
    world.connect();
    await listening;

    expect(world.statements).toEqual([]);
    expect(world.given).toEqual(["back"]);
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("listens on one connection for all watches, and discards it once, with the last of them", async () => {
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

    // A later error of the old connection is ignored, because other watches use another one.
    world.join();
    expect(world.connections).toBe(1);
    world.tell("error", new Error("Connection terminated"));
    expect(world.failures).toEqual([]);
    expect(world.given).toEqual(["up"]);
  });

  test("behind a pooler that lets no notification through never counts as listening, and says so", async () => {
    const world = new World();
    world.arrive = false;
    const { listening, leave } = world.join();
    let listens = false;
    listening.then(() => (listens = true)).catch(() => undefined);
    world.connect();
    await world.clock.advance(4_999);
    expect([world.notified, world.notHeard]).toEqual([1, 0]);
    await world.clock.advance(1);
    expect([world.notified, world.notHeard]).toEqual([1, 1]);
    await world.clock.advance(65_000);
    expect([world.notified, world.notHeard]).toEqual([2, 2]);
    expect([listens, world.failures]).toEqual([false, []]);

    // The pooler is gone, without an interruption of the connection.
    world.arrive = true;
    await world.clock.advance(60_000);
    expect([listens, world.notified, world.notHeard]).toEqual([true, 3, 2]);
    leave();
    expect(world.clock.pendingTimers).toBe(0);
  });

  test("whose last watch ends while it waits for its own notification keeps no timer", async () => {
    const world = new World();
    world.arrive = false;
    const { leave } = world.join();
    world.connect();
    await world.clock.advance(1);
    leave();
    await world.clock.advance(0);
    expect(world.clock.pendingTimers).toBe(0);
    expect([world.notHeard, world.given]).toEqual([0, ["up"]]);
  });

  test("whose connection breaks fails all watches once, and discards it", async () => {
    const world = new World();
    const [one, other] = [world.join(), world.join()];
    world.connect();
    await Promise.all([one.listening, other.listening]);
    for (let times = 0; times < 2; times += 1) world.tell("error", new Error("Connection terminated"));
    one.leave();
    other.leave();
    expect(world.failures).toHaveLength(2);
    expect(world.given).toEqual(["up"]);
  });

  test("that is closed fails all watches and discards its connection, even if the watches do not leave", async () => {
    const world = new World();
    const [one, other] = [world.join(), world.join()];
    world.connect();
    await Promise.all([one.listening, other.listening]);
    world.listener.close();
    expect(world.failures.map(({ message }) => message)).toEqual(["The store was closed.", "The store was closed."]);
    expect(world.given).toEqual(["up"]);
  });

  test("that gets no connection for ten seconds fails all watches", async () => {
    const world = new World();
    const { listening } = world.join();
    const failure = listening.catch((error: unknown) => error);
    await world.clock.advance(9_999);
    expect(world.failures).toEqual([]);
    await world.clock.advance(1);

    expect(await failure).toMatchObject({ message: "LISTEN got no answer within 10000 ms." });

    expect(world.failures).toHaveLength(1);
    // The next one listens on a new connection.
    expect(world.doubts).toEqual([7]);
    world.join();
    expect(world.connections).toBe(2);
  });
});
