/** Which connections are open. */
import { systemClock } from "@leasehold/core/provider";
import { expect, test } from "vitest";
import { RedisConnections } from "../src/connections.ts";
import type { RedisDriver } from "../src/drivers/driver.ts";

/** A driver without a server. It counts its open connections. */
function fakeDriver() {
  const counts = { opened: 0, closed: 0 };
  const driver: RedisDriver = {
    publish: "PUBLISH",
    open: () => {
      counts.opened += 1;
      return {
        ready: Promise.resolve(),
        send: () => Promise.resolve("OK"),
        primaries: () => Promise.resolve([]),
        subscribe: () => Promise.resolve(),
        unsubscribe: () => Promise.resolve(),
        close: () => void (counts.closed += 1),
      };
    },
  };
  return { counts, driver };
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
