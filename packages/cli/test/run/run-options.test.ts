import { MemoryLeaseStore } from "@leasehold/core";
import { expect, test } from "vitest";
import { candidacyOf, type RunOptions } from "../../src/run/run-options.ts";

test("an elector waits for a command's processes for the grace and a whole lease more", () => {
  const options: RunOptions = {
    store: new MemoryLeaseStore(),
    election: "e",
    command: ["true"],
    candidateId: "me",
    value: "v",
    stallTimeoutMs: 2_000,
    graceMs: 8_000,
    ignoresHangup: false,
    inheritSecrets: false,
    lossSignal: "SIGTERM",
    restart: "never",
    lostExitCode: 70,
    conflictExitCode: 75,
    tell: () => {},
    inform: () => {},
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
  };
  const { logger } = options;
  const wishes = { candidateId: "me", value: "v", stallTimeoutMs: 2_000, logger };
  expect(candidacyOf(options)).toEqual({ ...wishes, leaseDurationMs: undefined, drainTimeoutMs: 23_000 });
  expect(candidacyOf({ ...options, leaseDurationMs: 4_000 })).toMatchObject({ leaseDurationMs: 4_000, drainTimeoutMs: 12_000 });
});
