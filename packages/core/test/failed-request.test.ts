import { retryAfterMs, wasNeverSent } from "@leasehold/core/provider";
import { expect, test } from "vitest";

test.for([
  ["ECONNREFUSED", true],
  ["ENOTFOUND", true],
  ["EAI_AGAIN", true],
  ["ECONNRESET", false],
  ["EPIPE", false],
  ["ETIMEDOUT", false],
  [111, false],
  [undefined, false],
] as const)("a request that failed with %s was certainly not sent: %s", ([code, neverSent]) => {
  expect(wasNeverSent(code)).toBe(neverSent);
});

test.for([
  ["3", 3_000],
  ["0.5", 500],
  ["0", 0],
  ["-1", undefined],
  ["Infinity", undefined],
  ["soon", undefined],
  ["Wed, 21 Oct 2026 07:28:00 GMT", undefined],
  [undefined, undefined],
] as const)("the Retry-After %s asks for a wait of %s ms", ([header, waitMs]) => {
  expect(retryAfterMs(header)).toBe(waitMs);
});
