import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { EventStreams } from "../src/serve/event-stream.ts";

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
