import { vi } from "vitest";
import type { Leadership } from "@leasehold/core";
import { Elector } from "@leasehold/core";
import { TestLeaseStore } from "@leasehold/core/testing";

declare function bill(leadership: Leadership): Promise<void>;

vi.useFakeTimers(); // jest.useFakeTimers()
const store = new TestLeaseStore();
const elector = new Elector({ store, election: "billing" });
void elector.run(bill);
await vi.advanceTimersByTimeAsync(100); // it leads
await store.lose("billing"); // another candidate takes the lease
await vi.advanceTimersByTimeAsync(elector.timing.renewIntervalMs); // the task has stopped
store.fail(); // each request fails until store.recover()
