import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { UnblockedOutput, type OutputSink } from "../../src/output/unblocked-output.ts";

const lineOf = (message: string): string => `leasehold: ${message}\n`;

/** A reader that takes a number of bytes, and no more until the test allows it. */
class Reader implements OutputSink {
  readonly isTerminal = false;
  room = 0;
  text = "";
  ended = false;
  failure: Error | undefined;

  write(bytes: Buffer): number {
    if (this.failure) throw this.failure;
    const taken = bytes.subarray(0, this.room);
    this.room -= taken.length;
    this.text += String(taken);
    return taken.length;
  }

  async end(): Promise<void> {
    this.ended = true;
    await Promise.resolve();
  }
}

test("writes at once as much as its reader takes, and the rest once there is room", async () => {
  const clock = new VirtualClock();
  const reader = new Reader();
  const output = new UnblockedOutput(reader, clock, lineOf);
  reader.room = 4;
  output.write("one\ntwo\n");
  output.write("three\n");
  expect(reader.text).toBe("one\n");
  reader.room = 100;
  await clock.advance(100);
  expect(reader.text).toBe("one\ntwo\nthree\n");
});

test("writes once a full disk has room again", async () => {
  const clock = new VirtualClock();
  const reader = new Reader();
  const output = new UnblockedOutput(reader, clock, lineOf);
  reader.room = 100;
  reader.failure = Object.assign(new Error("full"), { code: "ENOSPC" });
  output.write("one\n");
  await clock.advance(1_000);
  reader.failure = undefined;
  output.write("two\n");
  await clock.advance(1_000);
  expect(reader.text).toBe("one\ntwo\n");
});

test("drops messages when the queue of a stuck reader is full, and says later how many", async () => {
  const clock = new VirtualClock();
  const reader = new Reader();
  const output = new UnblockedOutput(reader, clock, lineOf);
  const line = `${"x".repeat(9_999)}\n`;
  for (let count = 0; count < 10; count += 1) output.write(line);
  output.write("short\n");
  reader.room = 1_000_000;
  await clock.advance(100);
  expect(reader.text).toBe(`${line.repeat(6)}leasehold: 5 messages were dropped, because nobody read the output.\n`);
  output.write("again\n");
  expect(reader.text).toMatch(/\nagain\n$/);
});

test("one long line is enough to fill the queue, and a later line is written again", async () => {
  const clock = new VirtualClock();
  const reader = new Reader();
  const output = new UnblockedOutput(reader, clock, lineOf);
  const line = `${"x".repeat(65_535)}\n`;
  output.write(line);
  output.write("short\n");
  reader.room = 1_000_000;
  await clock.advance(100);
  output.write("again\n");
  expect(reader.text).toBe(`${line}leasehold: 1 message was dropped, because nobody read the output.\nagain\n`);
});

test("writes one text that is longer than the queue", () => {
  const reader = new Reader();
  reader.room = 1_000_000;
  const output = new UnblockedOutput(reader, new VirtualClock(), lineOf);
  output.write("x".repeat(100_000));
  expect(reader.text.length).toBe(100_000);
});

test("the end waits for the reader, but no longer than its limit", async () => {
  const clock = new VirtualClock();
  const [reader, still] = [new Reader(), new Reader()];
  const output = new UnblockedOutput(reader, clock, lineOf);
  output.write("last words\n");
  const ended = output.end(2_000);
  await clock.advance(1_000);
  expect(reader.ended).toBe(false);
  reader.room = 100;
  await clock.advance(100);
  await ended;
  expect([reader.text, reader.ended]).toEqual(["last words\n", true]);
  const other = new UnblockedOutput(still, clock, lineOf);
  other.write("nobody reads\n");
  const given = other.end(2_000);
  await clock.advance(2_000);
  await given;
  expect(still.ended).toBe(false);
});

test("a reader that has left is no error", async () => {
  const reader = new Reader();
  const output = new UnblockedOutput(reader, new VirtualClock(), lineOf);
  reader.failure = new Error("write EPIPE");
  output.write("one\n");
  output.write("two\n");
  await output.end(2_000);
});
