import { StoreError, type Logger } from "@leasehold/core";
import { Journal } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { expect, test } from "vitest";
import { Health } from "../src/health.ts";

const DENIED = new StoreError("STORE_DENIED", "It may not.", { store: "s", operation: "get", mayHaveBeenApplied: false });

function world() {
  const clock = new VirtualClock();
  const lines: unknown[] = [];
  const line = (level: string) => (message: string, fields?: unknown) => void lines.push([level, message, fields]);
  const logger: Logger = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
  return { clock, lines, health: new Health("a (memory)", clock, Journal.to(logger)) };
}

test("a single failure causes no warning, whatever comes after it", () => {
  const { lines, health } = world();
  for (let times = 0; times < 3; times += 1) {
    health.failed(DENIED);
    health.answered();
  }
  expect(lines).toEqual([]);
});

test("two failures in a row cause one warning, and the next answer one message with the duration", async () => {
  const { clock, lines, health } = world();
  for (let times = 0; times < 4; times += 1) {
    health.failed(DENIED);
    await clock.advance(1_500);
  }
  expect(lines).toEqual([
    [
      "warn",
      expect.stringContaining("The quorum's member a (memory) fails: It may not."),
      expect.objectContaining({ store: "a (memory)" }),
    ],
  ]);
  health.answered();
  health.answered();
  expect(lines.slice(1)).toEqual([
    ["info", "The quorum's member a (memory) answers again, after 6.0 s.", expect.objectContaining({ store: "a (memory)" })],
  ]);
  // Later failures are counted from zero again.
  health.failed(DENIED);
  expect(lines).toHaveLength(2);
  health.failed(new Error("secret"));
  expect(lines[2]).toEqual([
    "warn",
    expect.stringContaining("It has thrown an error that is not Leasehold's."),
    expect.anything(),
  ]);
});
