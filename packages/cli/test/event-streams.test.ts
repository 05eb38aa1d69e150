import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { Fleet } from "@leasehold/fleet";
import { expect, test, vi } from "vitest";
import { EventStreams } from "../src/serve/event-stream.ts";
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
  using streams = new EventStreams([], clock, new FleetWatch(store, ["orders"], clock));
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
