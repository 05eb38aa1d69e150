import { RecordLeaseStore, type Lease } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { test as base } from "vitest";
import { win } from "@leasehold/test-kit/acquisitions";
import { RecordService, type FaultyRecordStore } from "./faulty-record-store.ts";

/** A lease that one process holds. Other processes reach the same service, each by its own connection. */
export interface HeldLease {
  readonly clock: VirtualClock;
  readonly service: RecordService;
  readonly holder: RecordLeaseStore;
  readonly holderRecords: FaultyRecordStore;
  readonly rival: RecordLeaseStore;
  readonly admin: RecordLeaseStore;
  readonly adminRecords: FaultyRecordStore;
  readonly lease: Lease;
}

/** A test of a lease that is held. */
export const test = base.extend("held", async (): Promise<HeldLease> => {
  const clock = new VirtualClock();
  const service = new RecordService(clock);
  const [holderRecords, rivalRecords, adminRecords] = [service.connect("a"), service.connect("b"), service.connect("admin")];
  const [holder, rival, admin] = [holderRecords, rivalRecords, adminRecords].map(
    (records) => new RecordLeaseStore(records, { clock }),
  ) as [RecordLeaseStore, RecordLeaseStore, RecordLeaseStore];
  const lease = await win(holder, { value: "http://a" });
  return { clock, service, holder, holderRecords, rival, admin, adminRecords, lease };
});
