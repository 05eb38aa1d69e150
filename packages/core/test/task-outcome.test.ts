import { describe, expect, test } from "vitest";
import { countsAsReturn } from "../src/election/inside-task.ts";

class SdkAbortError extends Error {
  override readonly name = "AbortError";
}

const reason = new Error("lease lost");
const aborted = AbortSignal.abort(reason);
const nested = (depth: number, innermost: unknown): Error =>
  depth === 0 ? (innermost as Error) : new Error(`level ${depth}`, { cause: nested(depth - 1, innermost) });

describe("rejections that count as a return", () => {
  test.each([
    ["the signal's reason", reason],
    ["the reason as a cause", new Error("query failed", { cause: reason })],
    ["the reason far down the causes", nested(15, reason)],
    ["DOM's AbortError", new DOMException("aborted", "AbortError")],
    ["an SDK's AbortError", new SdkAbortError("The operation was aborted.")],
    ["an SDK's AbortError as a cause", new Error("upload failed", { cause: new SdkAbortError() })],
    ["Node's", Object.assign(new Error("aborted"), { code: "ABORT_ERR" })],
  ])("%s", (_, error) => {
    expect(countsAsReturn(error, aborted)).toBe(true);
  });

  test.each([
    ["another error", new Error("disk full")],
    ["another error with another cause", new Error("disk full", { cause: new Error("ENOSPC") })],
    ["the reason beneath sixteen others", nested(16, reason)],
    ["an error that only reads alike", new Error("lease lost")],
    ["a TimeoutError", new DOMException("late", "TimeoutError")],
    ["nothing", undefined],
    ["null", null],
    ["a text", "AbortError"],
  ])("not %s", (_, error) => {
    expect(countsAsReturn(error, aborted)).toBe(false);
  });

  test("no rejection counts before the signal has aborted", () => {
    const { signal } = new AbortController();

    expect(countsAsReturn(new DOMException("aborted", "AbortError"), signal)).toBe(false);
    expect(countsAsReturn(undefined, signal)).toBe(false);
  });

  test("a circular chain of causes ends the check", () => {
    const error = new Error("round");
    error.cause = error;

    expect(countsAsReturn(error, aborted)).toBe(false);
  });
});
