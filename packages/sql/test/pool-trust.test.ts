import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { PoolTrust, trustOf } from "../src/pool-trust.ts";

interface Connection {
  readonly id: string;
}

/** Returns a pool of idle connections. It makes a new one if it has none. */
function poolOf(idle: string[], { announces = true, hidesIdentity = false } = {}) {
  const events = new EventEmitter();
  const connections: Connection[] = idle.map((id) => ({ id }));
  const discarded: string[] = [];
  let made = 0;
  const trust = new PoolTrust();
  trust.listenTo(announces ? events : {}, "connection");
  const take = async (): Promise<Connection> => {
    const found = connections.pop();
    if (found) return found;
    const connection = { id: `new ${(made += 1)}` };
    events.emit("connection", hidesIdentity ? {} : connection);
    return connection;
  };
  const get = async (): Promise<string> =>
    (
      await trust.get(
        take,
        (connection) => connection,
        ({ id }) => discarded.push(id),
      )
    ).id;
  return { trust, get, discarded, connections };
}

describe("after a call without an answer", () => {
  test("no connection that was idle then is used, and the next one is new", async () => {
    const { trust, get, discarded } = poolOf(["a", "b", "c"]);
    await expect(get()).resolves.toBe("c");
    trust.doubt(trust.instant());
    await expect(get()).resolves.toBe("new 1");
    expect(discarded).toEqual(["b", "a"]);
  });

  test("a connection that has answered since that call was sent is used", async () => {
    const { trust, get, discarded, connections } = poolOf([]);
    const [one, other] = [{ id: "a" }, { id: "b" }];
    trust.answered(one);
    const sent = trust.instant();
    trust.answered(other);
    trust.doubt(sent);
    connections.push(one, other);
    await expect(get()).resolves.toBe("b");
    await expect(get()).resolves.toBe("new 1");
    expect(discarded).toEqual(["a"]);
  });

  test("a pool that accepts listeners and announces nothing is not emptied for ever", async () => {
    const trust = new PoolTrust();
    trust.listenTo(new EventEmitter(), "connection");
    trust.doubt(trust.instant());
    let taken = 0;
    const take = async (): Promise<object> => {
      if ((taken += 1) > 10_000) throw new Error("it is emptied for ever");
      return {};
    };
    const discard = (): void => undefined;
    await trust.get(take, (connection) => connection, discard);
    const before = taken;
    trust.doubt(trust.instant());
    await trust.get(take, (connection) => connection, discard);
    expect(taken - before).toBe(1);
  });

  test("a pool that announces other objects than it hands out still gives a new connection", async () => {
    const { trust, get, discarded } = poolOf(["a"], { hidesIdentity: true });
    trust.doubt(trust.instant());
    await expect(get()).resolves.toBe("new 1");
    expect(discarded).toEqual(["a"]);
  });

  test("a pool that announces nothing gives any connection, because none is known to be new", async () => {
    const { trust, get, discarded } = poolOf(["a"], { announces: false });
    trust.doubt(trust.instant());
    await expect(get()).resolves.toBe("a");
    expect(discarded).toEqual([]);
  });
});

test("all stores on one pool share what they know of it, and listen to it once", () => {
  const pool = new EventEmitter();
  expect(trustOf(pool, "connect")).toBe(trustOf(pool, "connect"));
  expect(pool.listenerCount("connect")).toBe(1);
});
