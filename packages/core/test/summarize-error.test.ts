import { LeaseholdError } from "@leasehold/core";
import { expect, test } from "vitest";
import { summarizeError } from "../src/reporting/redact.ts";

const NO_ERROR = "something was thrown that is no error";
const unreadable = {
  get name(): string {
    throw new Error("no name");
  },
};

test.each([
  ["an error of Leasehold's", new LeaseholdError("CONFIGURATION", "no store"), { code: "CONFIGURATION", message: "no store" }],
  ["another error", new TypeError("no function"), { code: "TypeError", message: "no function" }],
  ["a text", "gone", { code: "Error", message: "gone" }],
  ["something with a name that is none", { name: 7, message: "seven" }, { code: "Error", message: "seven" }],
  ["something with a name and no words", { name: "Odd" }, { code: "Odd", message: NO_ERROR }],
  ["nothing", undefined, { code: "Error", message: NO_ERROR }],
  ["an object that throws when it is read", unreadable, { code: "Error", message: NO_ERROR }],
])("%s is told by its code, or its name, and what it says", (_, thrown, told) => {
  expect(summarizeError(thrown)).toEqual(told);
});
