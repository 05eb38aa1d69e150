import { timing, type LeaseStoreCapabilities } from "@leasehold/core";
import type { Command } from "commander";
import { parseDuration } from "../duration.ts";
import { EXIT } from "../exit-codes.ts";
import { addStoreOptions, namesStore, openStore } from "../target-options.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";

interface Options {
  readonly lease?: number;
  readonly json?: true;
}

/** Prints the worst cases of a lease. If a store is named, they are for that store. No request is sent to it. */
export const verb: Verb = {
  define(command) {
    addStoreOptions(command)
      .option("--lease <duration>", "how long rivals wait after the last renewal (default: 15s)", parseDuration)
      .option("--json", "print JSON, in milliseconds");
  },
  async act(command, environment) {
    const { lease: leaseDurationMs, json } = command.opts<Options>();
    const report = timing({ leaseDurationMs }, await capabilitiesOf(command, environment));
    environment.stdout.write(`${json ? JSON.stringify(report) : String(report)}\n`);
    return EXIT.done;
  },
};

async function capabilitiesOf(command: Command, environment: ProcessEnvironment): Promise<LeaseStoreCapabilities | undefined> {
  if (!namesStore(command, environment)) return undefined;
  await using store = await openStore(command, environment);
  return store.capabilities;
}
