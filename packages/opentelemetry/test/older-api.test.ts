import { afterEach, expect, test, vi } from "vitest";

afterEach(() => {
  vi.doUnmock("@opentelemetry/api");
  vi.resetModules();
});

test("with an API of before 1.10, which has no logs, there are metrics and no events", async () => {
  vi.resetModules();
  vi.doMock("@opentelemetry/api", async (original) => ({ ...(await original<object>()), logs: undefined }));
  const { observeElections } = await import("@leasehold/opentelemetry");
  const { Elector, MemoryLeaseStore } = await import("@leasehold/core");
  const { EVENT_CHANNEL } = await import("@leasehold/core/diagnostics");
  const { hasSubscribers } = await import("node:diagnostics_channel");

  // Tests of other packages in this process may observe, too.
  const before = hasSubscribers(EVENT_CHANNEL);
  const observation = observeElections();
  // The metrics subscribe to the channel.
  expect(hasSubscribers(EVENT_CHANNEL)).toBe(true);
  const leadership = await new Elector({ store: new MemoryLeaseStore(), election: "e", logger: false }).campaign();
  await leadership.release();
  observation.stop();
  expect(hasSubscribers(EVENT_CHANNEL)).toBe(before);
});
