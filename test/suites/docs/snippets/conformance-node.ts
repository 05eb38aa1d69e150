import { describe, it } from "node:test";
import { conformance } from "@leasehold/conformance";
import { subject } from "./store-under-test.ts";

const runner = {
  describe: (name: string, body: () => void) => void describe(name, body),
  it: (name: string, body: () => Promise<void>, timeout?: number) => void it(name, { timeout }, body),
};
conformance(runner, subject);
