import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { MemoryLeaseStore, StoreError, type ListedElection } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { Fleet } from "@leasehold/fleet";
import { win } from "@leasehold/test-kit/acquisitions";
import { expect, test, vi } from "vitest";
import { EventStreams } from "../src/serve/event-stream.ts";
import { ElectionWatch } from "../src/serve/election-watch.ts";
import { FleetWatch } from "../src/serve/fleet-watch.ts";

const HEARTBEAT_MS = 15_000;

/** The response to a reader. It keeps everything that is written. */
class Reader extends EventEmitter {
  readonly written: string[] = [];
  writableLength = 0;

  write(text: string): void {
    this.written.push(text);
  }

  end(): void {
    this.emit("close");
  }

  destroy(): void {
    this.emit("close");
  }

  asResponse(): ServerResponse {
    return this as unknown as ServerResponse;
  }
}

test("disconnects a reader that reads nothing, and goes on with the others", async () => {
  const clock = new VirtualClock();
  using streams = new EventStreams([], clock);
  const [slow, quick] = [new Reader(), new Reader()];
  for (const reader of [slow, quick]) streams.add(reader.asResponse());
  slow.writableLength = 1_000_000;
  await clock.advance(HEARTBEAT_MS);
  expect(streams.size).toBe(2);

  slow.writableLength += 1;
  await clock.advance(HEARTBEAT_MS);

  expect(streams.size).toBe(1);
  expect(quick.written).toHaveLength(2);
});

test("sends one heartbeat to all readers, for as long as there is a reader", async () => {
  const clock = new VirtualClock();
  using streams = new EventStreams([], clock);
  const [first, second] = [new Reader(), new Reader()];
  streams.add(first.asResponse());
  await clock.advance(HEARTBEAT_MS - 1);
  streams.add(second.asResponse());
  expect(clock.pendingTimers).toBe(1);
  await clock.advance(1);
  expect([first.written, second.written]).toEqual([[":\n\n"], [":\n\n"]]);

  first.end();
  expect(clock.pendingTimers).toBe(1);
  second.end();
  expect(clock.pendingTimers).toBe(0);
});

test("ends every stream with the server", () => {
  const clock = new VirtualClock();
  const streams = new EventStreams([], clock);
  streams.add(new Reader().asResponse());

  streams[Symbol.dispose]();

  expect(streams.size).toBe(0);
  expect(clock.pendingTimers).toBe(0);
});

test("stops the heartbeat with the server, even if unread bytes keep a stream open", () => {
  const clock = new VirtualClock();
  const streams = new EventStreams([], clock);
  const reader = new Reader();
  let hasEnded = false;
  reader.end = () => void (hasEnded = true);
  streams.add(reader.asResponse());

  streams[Symbol.dispose]();

  expect(hasEnded).toBe(true);
  expect(clock.pendingTimers).toBe(0);
});

test("reads fleets while there is a reader, and sends who holds which shard, or why that cannot be read", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  const fleet = new Fleet({ store, fleet: "orders", shards: 3, memberId: "host-1", logger: false });
  const running = fleet.run(({ ended }) => ended);
  await clock.advance(20_000);
  using streams = new EventStreams([], clock, { fleets: new FleetWatch(store, ["orders"], clock) });
  const reader = new Reader();
  streams.add(reader.asResponse());
  await vi.waitFor(() => expect(reader.written.join("")).toContain("event: fleet"));
  const [, data = ""] = /event: fleet\ndata: (.*)\n\n/.exec(reader.written.join("")) ?? [];
  expect(JSON.parse(data)).toMatchObject({ fleet: "orders", members: [{ memberId: "host-1", shards: 3 }], shards: [{}, {}, {}] });

  vi.spyOn(store, "list").mockImplementation(() => {
    throw new Error("away");
  });
  await clock.advance(2_000);
  expect(reader.written.at(-1)).toBe('event: fleet\ndata: {"fleet":"orders","error":"away"}\n\n');

  reader.end();
  vi.restoreAllMocks();
  const { length } = reader.written;
  await Promise.all([fleet.stop(), running, clock.advance(100_000)]);
  expect(reader.written).toHaveLength(length);
});

test("lists every election each 5 s while there is a reader, and at once for the next reader", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  await win(store, { election: "mail", candidateId: "worker-2" });
  const list = vi.spyOn(store, "list");
  using streams = new EventStreams([], clock, { listed: new ElectionWatch(store, clock) });
  const [first, second] = [new Reader(), new Reader()];
  const sent = ({ written }: Reader): readonly unknown[] => written.filter((text) => text.startsWith("event: list"));
  await clock.advance(60_000);
  expect(list).not.toHaveBeenCalled();

  streams.add(first.asResponse());
  await clock.advance(10_000);
  expect([list.mock.calls.length, sent(first).length]).toEqual([3, 3]);
  await clock.advance(2_000);
  streams.add(second.asResponse());
  await clock.advance(0);
  expect([list.mock.calls.length, sent(second).length]).toEqual([4, 1]);

  for (const reader of [first, second]) reader.end();
  await clock.advance(60_000);
  expect(list).toHaveBeenCalledTimes(4);
});

test("sends how the store fails, with the last list, and forgets a leader whose lease may have run out", async () => {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  await win(store, { election: "mail", candidateId: "worker-2" });
  using streams = new EventStreams([], clock, { listed: new ElectionWatch(store, clock) });
  const reader = new Reader();
  streams.add(reader.asResponse());
  await clock.advance(0);
  const last = (): unknown => JSON.parse((reader.written.at(-1) ?? "").replace(/^event: list\ndata: /, "")) as unknown;
  expect(last()).toMatchObject({ elections: [{ election: "mail", known: true }], store: { lastContactAgeMs: 0 } });
  const details = { store: "memory", operation: "list", mayHaveBeenApplied: false };
  vi.spyOn(store, "list").mockImplementation(() => {
    throw new StoreError("STORE_TIMEOUT", "No reply.", details);
  });
  const lastError = { code: "STORE_TIMEOUT", message: "No reply." };
  await clock.advance(10_000);
  const failing = { lastContactAgeMs: 10_000, lastError };
  expect(last()).toMatchObject({
    elections: [{ leader: { candidateId: "worker-2" }, known: true, store: failing }],
    store: failing,
  });
  await clock.advance(9_000);
  await clock.advance(1_000);
  expect(last()).toMatchObject({ elections: [{ leader: null, known: false, note: "last led by worker-2" }] });
});

test("shows foreign records, elections of unknown state, and occurrences that are over", async () => {
  const clock = new VirtualClock();
  const found: readonly ListedElection[] = [
    { election: "notes", state: "foreign", problem: "it is no\u001b[2J lease" },
    { election: "dark", state: "unknown", term: 4, holder: "one", ageMs: [0, Infinity], leaseDurationMs: 15_000 },
    { election: "tick", state: "vacant", term: 1, bar: { kind: "done" } },
  ];
  const list = async function* (): AsyncGenerator<ListedElection> {
    yield* await Promise.resolve(found);
  };
  using watch = new ElectionWatch(Object.assign(new MemoryLeaseStore({ clock }), { list }), clock);
  const common = { leader: null, terms: [], store: { lastContactAgeMs: 0 } };
  expect(await watch.elections()).toEqual([
    { ...common, election: "dark", lease: "unknown", known: false, note: "last led by one" },
    { ...common, election: "notes", lease: "foreign", known: false, note: "it is no\\u{1b}[2J lease" },
    { ...common, election: "tick", lease: "vacant", known: true, note: "done", done: true },
  ]);
});
