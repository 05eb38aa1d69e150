/** Which connections are open, and which watches end with what. */
import { systemClock } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { RedisConnections } from "../src/connections.ts";
import type { RedisDriver } from "../src/drivers/driver.ts";
import { RedisListener } from "../src/listener.ts";

/** A driver without a server. It counts its open connections, and refuses what the test refuses. */
function fakeDriver(refusal: (channel: string) => Error | undefined = () => undefined) {
  const counts = { opened: 0, closed: 0 };
  const driver: RedisDriver = {
    publish: "PUBLISH",
    open: () => {
      counts.opened += 1;
      return {
        ready: Promise.resolve(),
        send: () => Promise.resolve("OK"),
        primaries: () => Promise.resolve([]),
        subscribe: (channel) => {
          const error = refusal(channel);
          return error ? Promise.reject(error) : Promise.resolve();
        },
        unsubscribe: () => Promise.resolve(),
        close: () => void (counts.closed += 1),
      };
    },
  };
  return { counts, driver };
}

/** Watches a channel, and notes what ends the watch. */
function watched(listener: RedisListener, channel: string) {
  const failures: string[] = [];
  const failed = (error: Error): void => void failures.push(error.message);
  const { listening } = listener.join({ channel, changed: () => undefined, failed });
  return { failures, listening: listening.catch(() => undefined) };
}

test("a store that was closed while its client library was loaded opens no connection", async () => {
  const { counts, driver } = fakeDriver();
  const loading = Promise.withResolvers<RedisDriver>();
  const connections = new RedisConnections(() => loading.promise, systemClock);
  const opening = connections.open({ ended: () => undefined, message: () => undefined });
  connections.closeAll();
  loading.resolve(driver);
  await expect(opening).rejects.toThrow("was closed");
  expect(counts.opened).toBe(counts.closed);
});

test.each([
  ["a server refuses ends only its own watches", "NOPERM No permissions to access a channel", []],
  ["gets no answer ends all watches", "Connection is closed.", ["Connection is closed."]],
])("a subscription that %s", async (_, message, others) => {
  const { counts, driver } = fakeDriver((channel) => (channel === "bad" ? new Error(message) : undefined));
  const listener = new RedisListener(new RedisConnections(() => Promise.resolve(driver), systemClock), systemClock);
  const good = watched(listener, "good");
  await good.listening;
  const bad = watched(listener, "bad");
  await bad.listening;
  expect(bad.failures).toEqual([message]);
  expect(good.failures).toEqual(others);
  listener.close();
  await expect.poll(() => counts.closed).toBe(counts.opened);
});
