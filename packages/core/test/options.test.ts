import { ConfigurationError } from "@leasehold/core";
import { describe, expect, test } from "vitest";
import { checkKnown } from "../src/store/options.ts";

const KNOWN = { retryPeriodMs: true, ttl: true };
const MEANT = "It has no 'x'. Was 'retryPeriodMs' meant?";
const NONE = "It has no 'x'. There are: retryPeriodMs, ttl.";

describe("an unknown name", () => {
  test.each([
    ["begins a known one", "retry", MEANT],
    ["begins with a known one", "retryPeriodMsAndMore", MEANT],
    ["has other capitals", "RETRYPERIODMS", MEANT],
    ["lacks a letter", "retryPriodMs", MEANT],
    ["has a letter more", "retryPeriiodMs", MEANT],
    ["has a wrong letter", "retryPariodMs", MEANT],
    ["has two letters swapped", "retryPeroidMs", MEANT],
    ["has wrong letters in two places", "ratryPeriodMz", NONE],
    ["has three wrong letters in one place", "retryPaaaodMs", NONE],
    ["lacks two letters", "retryriodMs", NONE],
    ["has two letters more", "retryPePeriodMs", NONE],
    ["is nothing like any", "leaseDurationMs", NONE],
    ["is of every object", "toString", NONE],
  ])("that %s", (_, name, message) => {
    expect(() => checkKnown("It has no", name, KNOWN)).toThrow(new ConfigurationError(message.replace("'x'", `'${name}'`)));
  });
});
