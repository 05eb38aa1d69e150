import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { PostgresListener, type NotifyingStore } from "../src/postgres/postgres-listener.ts";
import type { Listening, PostgresPoolClient } from "../src/postgres/postgres-driver.ts";
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
  /** True if a notification gets a connection. */
  hasSpare = true;
  notified = 0;
  notHeard = 0;
  /** The callbacks of a driver that listens by itself. */
  driver: Listening | undefined;
  changes = 0;
  readonly #connecting: Array<PromiseWithResolvers<PostgresPoolClient>> = [];
  readonly listener: PostgresListener;
  #listeners = new Map<string, Array<(value: never) => void>>();

  constructor({ listensItself = false } = {}) {
    const connections = {
      ...(listensItself
        ? {
            listensItself: async (_: string, driver: Listening) => {
              this.driver = driver;
              return async () => undefined;
            },
          }
        : {}),
      get: async () => {
        const connecting = Promise.withResolvers<PostgresPoolClient>();
        this.#connecting.push(connecting);
        return await connecting.promise;
      },
      release: () => void this.given.push("back"),
      discard: () => void this.given.push("up"),
      instant: () => 7,
      doubt: (instant: number) => void this.doubts.push(instant),
      isExhausted: false,
    };
    this.listener = new PostgresListener(connections as unknown as PostgresConnections, this.clock);
    this.exhaust = () => void Object.assign(connections, { isExhausted: true });
  }

  /** Makes the pool tell that a request waits for a connection. */
  readonly exhaust: () => void;

  readonly store: NotifyingStore = {
    notify: async () => {
      this.notified += 1;
      if (!this.hasSpare) await new Promise(() => undefined);
      if (!this.arrive) return;
      this.driver?.notified("");
      this.tell("notification", { payload: "" });
    },
    notHeard: () => void (this.notHeard += 1),
  };

  join(store: NotifyingStore = this.store): ReturnType<PostgresListener["join"]> {
    return this.listener.join({
      election: "e",
      store,
      changed: () => void (this.changes += 1),
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

    // Later events of the old connection are ignored, because other watches use another one.
    world.join();
    expect(world.connections).toBe(1);
    world.tell("notification", { payload: "e" });
    world.tell("error", new Error("Connection terminated"));
    expect([world.failures, world.changes]).toEqual([[], 0]);
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
    world.listener.close(world.store);
    expect(world.failures.map(({ message }) => message)).toEqual(["The store was closed.", "The store was closed."]);
    expect(world.given).toEqual(["up"]);
  });

  test("does not warn if its notification came while the event loop was blocked", async () => {
    const world = new World();
    world.arrive = false;
    const { listening, leave } = world.join();
    world.connect();
    await world.clock.advance(0);
    // After a blocked event loop, timers run first. Node reads what has come after them.
    world.clock.setTimer(() => world.tell("notification", { payload: "" }), 5_000);
    await world.clock.advance(5_000);
    await listening;
    expect(world.notHeard).toBe(0);
    leave();
  });

  test("whose driver connects again before it has heard anything notifies itself again, and does not count as listening", async () => {
    const world = new World({ listensItself: true });
    world.arrive = false;
    const { listening, leave } = world.join();
    let listens = false;
    listening.then(() => (listens = true)).catch(() => undefined);
    await world.clock.advance(1);
    world.driver?.resumed();
    await world.clock.advance(1);
    expect([world.notified, listens, world.changes]).toEqual([2, false, 0]);

    world.arrive = true;
    world.driver?.resumed();
    await listening;
    expect([world.notified, world.changes]).toEqual([3, 0]);
    world.driver?.resumed();
    expect([world.notified, world.changes]).toEqual([3, 1]);
    leave();
  });

  test("gives its connection up after a second if the pool has none for the notification, and doubts no other", async () => {
    const world = new World();
    world.hasSpare = false;
    const failure = world.join().listening.catch((error: unknown) => error);
    world.connect();
    await world.clock.advance(999);
    world.exhaust();
    expect(world.given).toEqual([]);
    await world.clock.advance(1);
    expect(await failure).toMatchObject({ message: expect.stringContaining("no connection to spare") as string });
    expect([world.given, world.doubts, world.failures.length]).toEqual([["up"], [], 1]);
  });

  test("notifies itself by another store if the one that notifies is closed", async () => {
    const world = new World();
    const closing = Promise.withResolvers<never>();
    const first = { notify: () => closing.promise, notHeard: () => undefined };
    const one = world.join(first);
    const other = world.join();
    world.connect();
    await world.clock.advance(1);
    world.listener.close(first);
    closing.reject(new Error("The store was closed."));
    await Promise.all([one.listening, other.listening]);
    expect([world.notified, world.failures.length, world.given]).toEqual([1, 1, []]);
    other.leave();
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
