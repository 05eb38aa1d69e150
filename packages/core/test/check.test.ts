import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { MemoryLeaseStore } from "@leasehold/core";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, onTestFinished, test } from "vitest";
import { timedCheck } from "../src/store/request.ts";
import { MemoryRecordStore, RecordLeaseStore } from "@leasehold/core/provider";

test("a check returns the duration of each of its requests", async () => {
  const clock = new VirtualClock();
  const read = (): Promise<void> => clock.advance(30);
  const probe = (): Promise<void> => clock.advance(50);

  await expect(timedCheck(clock, read, probe)).resolves.toEqual({ readMs: 30, writeMs: 50 });
});

test("a check publishes no request for a fence that is no record of its own", async () => {
  const operations: string[] = [];
  const onRequest = (request: unknown): void => void operations.push((request as StoreRequest).operation);
  subscribe(REQUEST_CHANNEL, onRequest);
  onTestFinished(() => void unsubscribe(REQUEST_CHANNEL, onRequest));

  await new MemoryLeaseStore().check({ election: "e" });
  expect(operations).toEqual(["get", "put"]);
});

test("a store that carries out a write on an impossible version holds no leases", async () => {
  const records = new MemoryRecordStore();
  records.put = () => Promise.resolve({ stored: true, version: "1" });
  await expect(new RecordLeaseStore(records).check({ election: "e" })).rejects.toThrow(/cannot hold leases/);
});
