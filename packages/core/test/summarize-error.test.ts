import { LeaseholdError } from "@leasehold/core";
import { expect, test } from "vitest";
import { summarizeError } from "../src/reporting/redact.ts";

test.each([
  ["an error of Leasehold's", new LeaseholdError("CONFIGURATION", "no store"), { code: "CONFIGURATION", message: "no store" }],
  ["another error", new TypeError("no function"), { code: "TypeError", message: "no function" }],
  ["a text", "gone", { code: "Error", message: "gone" }],
  ["something with a name that is none", { name: 7, message: "seven" }, { code: "Error", message: "seven" }],
  ["nothing", undefined, { code: "Error", message: "something was thrown that is no error" }],
])("%s is told by its code, or its name, and what it says", (_, thrown, told) => {
  expect(summarizeError(thrown)).toEqual(told);
});
